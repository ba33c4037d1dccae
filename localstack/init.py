"""Creates the tables and queues of the tests unless they exist.

LocalStack runs this file itself in its container (without `__main__`, hence no guard); elsewhere `up` does.
"""

import os

import boto3

INSIDE_THE_CONTAINER = "http://127.0.0.1:4566"


def client(service):
    return boto3.client(
        service,
        endpoint_url=os.environ.get(f"AWS_ENDPOINT_URL_{service.upper()}", INSIDE_THE_CONTAINER),
        region_name="us-east-1",
        aws_access_key_id="test",
        aws_secret_access_key="test",
    )


def create_table(name, **key):
    """`key` is the partition key, then the sort key if there is one, each with its type."""
    dynamodb = client("dynamodb")
    try:
        dynamodb.create_table(
            TableName=name,
            AttributeDefinitions=[{"AttributeName": part, "AttributeType": kind} for part, kind in key.items()],
            KeySchema=[{"AttributeName": part, "KeyType": role} for part, role in zip(key, ("HASH", "RANGE"))],
            BillingMode="PAY_PER_REQUEST",
        )
    except dynamodb.exceptions.ResourceInUseException:
        pass
    dynamodb.get_waiter("table_exists").wait(TableName=name, WaiterConfig={"Delay": 1, "MaxAttempts": 30})


def create_queue(name, **attributes):
    client("sqs").create_queue(QueueName=name, Attributes=attributes)


create_table("orders", id="S")
create_table("movies", year="N", title="S")
create_queue("orders")
create_queue("orders.fifo", FifoQueue="true", ContentBasedDeduplication="false")
