// A bulk writer in JavaScript under limits: the endpoint of throttled-aws is in AWS_ENDPOINT_URL.
import assert from "node:assert";
import test from "node:test";
import { BatchWriteItemCommand, CreateTableCommand, DynamoDBClient, ScanCommand, waitUntilTableExists } from "@aws-sdk/client-dynamodb";

const client = new DynamoDBClient({});
const writes = Array.from({ length: 500 }, (_, id) => ({ PutRequest: { Item: { id: { S: `${id}` }, text: { S: "x".repeat(100) } } } }));
const chunks = Array.from({ length: 20 }, (_, chunk) => writes.slice(25 * chunk, 25 * chunk + 25));

// What many programs do: a call that succeeds is taken for one that wrote everything.
async function naive(table) {
  for (const chunk of chunks) await client.send(new BatchWriteItemCommand({ RequestItems: { [table]: chunk } }));
}

async function right(table) {
  for (const chunk of chunks) {
    for (let items = { [table]: chunk }, attempt = 0; Object.keys(items).length > 0; attempt++) {
      const delay = Math.random() * Math.min(1000, 20 * 2 ** attempt);
      if (attempt > 0) await new Promise((done) => setTimeout(done, delay));
      try {
        items = (await client.send(new BatchWriteItemCommand({ RequestItems: items }))).UnprocessedItems ?? {};
      } catch (error) {
        // The SDK has given up: nothing of the call was accepted.
        if (error.name !== "ProvisionedThroughputExceededException") throw error;
      }
    }
  }
}

async function itemsAfter(write, TableName) {
  const key = { KeySchema: [{ AttributeName: "id", KeyType: "HASH" }], AttributeDefinitions: [{ AttributeName: "id", AttributeType: "S" }] };
  await client.send(new CreateTableCommand({ TableName, BillingMode: "PAY_PER_REQUEST", ...key }));
  await waitUntilTableExists({ client, maxWaitTime: 60, minDelay: 1 }, { TableName });
  await write(TableName);
  return (await client.send(new ScanCommand({ TableName, Select: "COUNT", ConsistentRead: true }))).Count;
}

test("a loop that ignores unprocessed items loses some", async () => {
  assert.ok((await itemsAfter(naive, "javascript-naive")) < 500);
});

test("a loop that sends them again loses nothing", async () => {
  assert.equal(await itemsAfter(right, "javascript-right"), 500);
});
