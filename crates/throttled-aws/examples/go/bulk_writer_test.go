// A bulk writer in Go under limits: the endpoint of throttled-aws is in AWS_ENDPOINT_URL.
package bulkwriter

import (
	"context"
	"errors"
	"math/rand/v2"
	"strconv"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/config"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"
)

const items = 500

type requests = map[string][]types.WriteRequest

func chunk(table string, start int) requests {
	var writes []types.WriteRequest
	for id := start; id < start+25; id++ {
		item := map[string]types.AttributeValue{"id": &types.AttributeValueMemberS{Value: strconv.Itoa(id)}}
		writes = append(writes, types.WriteRequest{PutRequest: &types.PutRequest{Item: item}})
	}
	return requests{table: writes}
}

// What many programs do: a call that succeeds is taken for one that wrote everything.
func naive(client *dynamodb.Client, table string) error {
	for start := 0; start < items; start += 25 {
		_, err := client.BatchWriteItem(context.TODO(), &dynamodb.BatchWriteItemInput{RequestItems: chunk(table, start)})
		if err != nil {
			return err
		}
	}
	return nil
}

func right(client *dynamodb.Client, table string) error {
	for start := 0; start < items; start += 25 {
		rest := chunk(table, start)
		for delay := 20 * time.Millisecond; len(rest) > 0; delay = min(2*delay, time.Second) {
			output, err := client.BatchWriteItem(context.TODO(), &dynamodb.BatchWriteItemInput{RequestItems: rest})
			var throttled *types.ProvisionedThroughputExceededException
			if err == nil {
				rest = output.UnprocessedItems
			} else if !errors.As(err, &throttled) {
				return err
			}
			if len(rest) > 0 {
				time.Sleep(rand.N(delay))
			}
		}
	}
	return nil
}

func itemsAfter(t *testing.T, table string, write func(*dynamodb.Client, string) error) (int32, error) {
	configuration, err := config.LoadDefaultConfig(context.TODO())
	if err != nil {
		t.Fatal(err)
	}
	client := dynamodb.NewFromConfig(configuration)
	_, err = client.CreateTable(context.TODO(), &dynamodb.CreateTableInput{
		TableName: &table, BillingMode: types.BillingModePayPerRequest,
		KeySchema:            []types.KeySchemaElement{{AttributeName: aws.String("id"), KeyType: types.KeyTypeHash}},
		AttributeDefinitions: []types.AttributeDefinition{{AttributeName: aws.String("id"), AttributeType: "S"}},
	})
	if err != nil {
		t.Fatal(err)
	}
	written := write(client, table)
	output, err := client.Scan(context.TODO(), &dynamodb.ScanInput{TableName: &table, ConsistentRead: aws.Bool(true)})
	if err != nil {
		t.Fatal(err)
	}
	return output.Count, written
}

func TestALoopThatIgnoresUnprocessedItemsLosesSome(t *testing.T) {
	if found, _ := itemsAfter(t, "go-naive", naive); found >= items {
		t.Fatalf("%d items", found)
	}
}

func TestALoopThatSendsThemAgainLosesNothing(t *testing.T) {
	if found, err := itemsAfter(t, "go-right", right); found != items || err != nil {
		t.Fatalf("%d items, %v", found, err)
	}
}
