package bulkwriter

import (
	"context"
	"fmt"
	"maps"
	"os"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/aws/middleware"
	"github.com/aws/aws-sdk-go-v2/config"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"
	"github.com/aws/aws-sdk-go-v2/service/sqs"
	messages "github.com/aws/aws-sdk-go-v2/service/sqs/types"
	smithy "github.com/aws/smithy-go/middleware"
)

// The steps of the guides of the SDK for Go, through throttled-aws. TUTORIAL is where the names of the operations are written.

// A configuration of which each operation is noted in `tried`.
func noting(t *testing.T, tried map[string]bool) aws.Config {
	note := smithy.InitializeMiddlewareFunc("Note", func(
		ctx context.Context, input smithy.InitializeInput, next smithy.InitializeHandler,
	) (smithy.InitializeOutput, smithy.Metadata, error) {
		tried[middleware.GetOperationName(ctx)] = true
		return next.HandleInitialize(ctx, input)
	})
	configuration, err := config.LoadDefaultConfig(context.TODO(), config.WithAPIOptions([]func(*smithy.Stack) error{
		func(stack *smithy.Stack) error { return stack.Initialize.Add(note, smithy.After) },
	}))
	if err != nil {
		t.Fatal(err)
	}
	return configuration
}

// Fails unless a call succeeds.
func must[T any](t *testing.T) func(T, error) T {
	return func(output T, err error) T {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
		return output
	}
}

func report(t *testing.T, tried map[string]bool) {
	t.Cleanup(func() {
		if path := os.Getenv("TUTORIAL"); path != "" && !t.Failed() {
			names := strings.Join(slices.Sorted(maps.Keys(tried)), ", ")
			if err := os.WriteFile(path, fmt.Appendln(nil, names), 0o644); err != nil {
				t.Error(err)
			}
		}
	})
}

func text(value string) types.AttributeValue { return &types.AttributeValueMemberS{Value: value} }

func TestTheTutorialOfTables(t *testing.T) {
	ctx, table, tried := context.TODO(), aws.String("doc-example-movies"), map[string]bool{}
	report(t, tried)
	client := dynamodb.NewFromConfig(noting(t, tried))
	must[*dynamodb.CreateTableOutput](t)(client.CreateTable(ctx, &dynamodb.CreateTableInput{
		TableName: table, BillingMode: types.BillingModePayPerRequest,
		AttributeDefinitions: []types.AttributeDefinition{
			{AttributeName: aws.String("year"), AttributeType: "N"}, {AttributeName: aws.String("title"), AttributeType: "S"},
		},
		KeySchema: []types.KeySchemaElement{
			{AttributeName: aws.String("year"), KeyType: "HASH"}, {AttributeName: aws.String("title"), KeyType: "RANGE"},
		},
	}))
	waiter := dynamodb.NewTableExistsWaiter(client, func(o *dynamodb.TableExistsWaiterOptions) { o.MinDelay = time.Second })
	if err := waiter.Wait(ctx, &dynamodb.DescribeTableInput{TableName: table}, time.Minute); err != nil {
		t.Fatal(err)
	}
	key := map[string]types.AttributeValue{"year": &types.AttributeValueMemberN{Value: "1942"}, "title": text("Casablanca")}
	movie := maps.Clone(key)
	movie["plot"] = text("They part.")
	must[*dynamodb.PutItemOutput](t)(client.PutItem(ctx, &dynamodb.PutItemInput{TableName: table, Item: movie}))
	updated := must[*dynamodb.UpdateItemOutput](t)(client.UpdateItem(ctx, &dynamodb.UpdateItemInput{
		TableName: table, Key: key, UpdateExpression: aws.String("SET plot = :plot"), ReturnValues: "UPDATED_NEW",
		ExpressionAttributeValues: map[string]types.AttributeValue{":plot": text("They meet again, and part.")},
	}))
	if len(updated.Attributes) != 1 {
		t.Fatal(updated.Attributes)
	}
	writes := []types.WriteRequest{}
	for title := range 20 {
		item := maps.Clone(movie)
		item["title"] = text(fmt.Sprint("Movie ", title))
		writes = append(writes, types.WriteRequest{PutRequest: &types.PutRequest{Item: item}})
	}
	must[*dynamodb.BatchWriteItemOutput](t)(client.BatchWriteItem(ctx, &dynamodb.BatchWriteItemInput{RequestItems: requests{*table: writes}}))
	if got := must[*dynamodb.GetItemOutput](t)(client.GetItem(ctx, &dynamodb.GetItemInput{TableName: table, Key: key})); len(got.Item) != 3 {
		t.Fatal(got.Item)
	}
	found := 0
	pages := dynamodb.NewQueryPaginator(client, &dynamodb.QueryInput{
		TableName: table, KeyConditionExpression: aws.String("#year = :year"), Limit: aws.Int32(8),
		ExpressionAttributeNames:  map[string]string{"#year": "year"},
		ExpressionAttributeValues: map[string]types.AttributeValue{":year": key["year"]},
	})
	for pages.HasMorePages() {
		found += len(must[*dynamodb.QueryOutput](t)(pages.NextPage(ctx)).Items)
	}
	scanned := must[*dynamodb.ScanOutput](t)(client.Scan(ctx, &dynamodb.ScanInput{TableName: table}))
	if found != 21 || scanned.Count != 21 {
		t.Fatal(found, scanned.Count)
	}
	must[*dynamodb.DeleteItemOutput](t)(client.DeleteItem(ctx, &dynamodb.DeleteItemInput{TableName: table, Key: key}))
	if tables := must[*dynamodb.ListTablesOutput](t)(client.ListTables(ctx, nil)); !slices.Contains(tables.TableNames, *table) {
		t.Fatal(tables.TableNames)
	}
	must[*dynamodb.DeleteTableOutput](t)(client.DeleteTable(ctx, &dynamodb.DeleteTableInput{TableName: table}))
}

func TestTheTutorialOfQueues(t *testing.T) {
	ctx, tried := context.TODO(), map[string]bool{}
	report(t, tried)
	client := sqs.NewFromConfig(noting(t, tried))
	created := must[*sqs.CreateQueueOutput](t)(client.CreateQueue(ctx, &sqs.CreateQueueInput{QueueName: aws.String("go")}))
	url := created.QueueUrl
	must[*sqs.GetQueueUrlOutput](t)(client.GetQueueUrl(ctx, &sqs.GetQueueUrlInput{QueueName: aws.String("go")}))
	must[*sqs.SetQueueAttributesOutput](t)(client.SetQueueAttributes(ctx, &sqs.SetQueueAttributesInput{
		QueueUrl: url, Attributes: map[string]string{"ReceiveMessageWaitTimeSeconds": "1"},
	}))
	names := []messages.QueueAttributeName{messages.QueueAttributeNameQueueArn}
	must[*sqs.GetQueueAttributesOutput](t)(client.GetQueueAttributes(ctx, &sqs.GetQueueAttributesInput{QueueUrl: url, AttributeNames: names}))
	must[*sqs.TagQueueOutput](t)(client.TagQueue(ctx, &sqs.TagQueueInput{QueueUrl: url, Tags: map[string]string{"a": "b"}}))
	must[*sqs.SendMessageOutput](t)(client.SendMessage(ctx, &sqs.SendMessageInput{QueueUrl: url, MessageBody: aws.String("one")}))
	entries := []messages.SendMessageBatchRequestEntry{{Id: aws.String("1"), MessageBody: aws.String("two")}}
	must[*sqs.SendMessageBatchOutput](t)(client.SendMessageBatch(ctx, &sqs.SendMessageBatchInput{QueueUrl: url, Entries: entries}))
	for deleted := 0; deleted < 2; {
		received := must[*sqs.ReceiveMessageOutput](t)(client.ReceiveMessage(ctx, &sqs.ReceiveMessageInput{
			QueueUrl: url, MaxNumberOfMessages: 10, WaitTimeSeconds: 1,
		}))
		var receipts []messages.DeleteMessageBatchRequestEntry
		for number, message := range received.Messages {
			receipts = append(receipts, messages.DeleteMessageBatchRequestEntry{
				Id: aws.String(fmt.Sprint(number)), ReceiptHandle: message.ReceiptHandle,
			})
		}
		if len(receipts) > 0 {
			must[*sqs.DeleteMessageBatchOutput](t)(client.DeleteMessageBatch(ctx, &sqs.DeleteMessageBatchInput{QueueUrl: url, Entries: receipts}))
		}
		deleted += len(receipts)
	}
	queues := must[*sqs.ListQueuesOutput](t)(client.ListQueues(ctx, &sqs.ListQueuesInput{}))
	if !slices.Contains(queues.QueueUrls, *url) {
		t.Fatal(queues.QueueUrls)
	}
	must[*sqs.PurgeQueueOutput](t)(client.PurgeQueue(ctx, &sqs.PurgeQueueInput{QueueUrl: url}))
	must[*sqs.DeleteQueueOutput](t)(client.DeleteQueue(ctx, &sqs.DeleteQueueInput{QueueUrl: url}))
}
