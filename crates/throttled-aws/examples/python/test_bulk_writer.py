"""A bulk writer in Python under limits: the endpoint of throttled-aws is in AWS_ENDPOINT_URL."""

import json
import os
import unittest
import urllib.request

import boto3

ITEMS = [{"id": f"{number}", "text": "x" * 100} for number in range(500)]


def naive(table):
    """What many programs do: a call that succeeds is taken for one that wrote everything."""
    for start in range(0, len(ITEMS), 25):
        writes = [{"PutRequest": {"Item": item}} for item in ITEMS[start : start + 25]]
        table.meta.client.batch_write_item(RequestItems={table.name: writes})


def right(table):
    with table.batch_writer() as batch:
        for item in ITEMS:
            batch.put_item(Item=item)


class BulkWriter(unittest.TestCase):
    def items_after(self, write, name):
        table = boto3.resource("dynamodb").create_table(
            TableName=name,
            KeySchema=[{"AttributeName": "id", "KeyType": "HASH"}],
            AttributeDefinitions=[{"AttributeName": "id", "AttributeType": "S"}],
            BillingMode="PAY_PER_REQUEST",
        )
        table.wait_until_exists()
        write(table)
        figures = json.load(urllib.request.urlopen(os.environ["AWS_ENDPOINT_URL"] + "/_throttled/figures"))
        print(name, figures["dynamodb"][name])
        return table.scan(ConsistentRead=True)["Count"]

    def test_a_loop_that_ignores_unprocessed_items_loses_some(self):
        self.assertLess(self.items_after(naive, "python-naive"), len(ITEMS))

    def test_the_batch_writer_loses_nothing(self):
        self.assertEqual(self.items_after(right, "python-right"), len(ITEMS))


if __name__ == "__main__":
    unittest.main()
