// Writes items into a table behind throttled-aws by the SDK for JavaScript: writer.mjs TABLE NUMBER LOOPS
import { BatchWriteItemCommand, DynamoDBClient } from "@aws-sdk/client-dynamodb";

const [table, number, loops] = process.argv.slice(2);
const client = new DynamoDBClient({});
let next = 0;

async function write() {
  while (next < Number(number)) {
    const first = next;
    next = Math.min(first + 25, Number(number));
    const put = (_, index) => ({ PutRequest: { Item: { id: { S: `${first + index}`.padStart(6, "0") }, text: { S: "x".repeat(100) } } } });
    let items = { [table]: Array.from({ length: next - first }, put) };
    for (let attempt = 0; Object.keys(items).length > 0; attempt++) {
      if (attempt > 0) await new Promise((done) => setTimeout(done, Math.random() * Math.min(1000, 20 * 2 ** attempt)));
      try {
        items = (await client.send(new BatchWriteItemCommand({ RequestItems: items }))).UnprocessedItems ?? {};
      } catch (error) {
        if (error.name !== "ProvisionedThroughputExceededException") throw error;
      }
    }
  }
}

await Promise.all(Array.from({ length: Number(loops) }, write));
