"""The steps of boto3's guides for DynamoDB and SQS, through throttled-aws: each operation is printed."""

import boto3
from boto3.dynamodb.conditions import Attr, Key

dynamodb = boto3.resource("dynamodb")
events = []


def listen(client):
    client.meta.events.register("after-call.*.*", lambda model, **_: events.append(model.name))


def tables():
    listen(dynamodb.meta.client)
    users = dynamodb.create_table(
        TableName="users",
        KeySchema=[{"AttributeName": "username", "KeyType": "HASH"}, {"AttributeName": "last_name", "KeyType": "RANGE"}],
        AttributeDefinitions=[
            {"AttributeName": "username", "AttributeType": "S"},
            {"AttributeName": "last_name", "AttributeType": "S"},
        ],
        ProvisionedThroughput={"ReadCapacityUnits": 5, "WriteCapacityUnits": 5},
    )
    users.wait_until_exists()
    assert users.item_count == 0 and [table.name for table in dynamodb.tables.all()].count("users") == 1
    key = {"username": "janedoe", "last_name": "Doe"}
    users.put_item(Item={**key, "first_name": "Jane", "age": 25, "account_type": "standard_user"})
    assert users.get_item(Key=key)["Item"]["age"] == 25
    users.update_item(Key=key, UpdateExpression="SET age = :val1", ExpressionAttributeValues={":val1": 26})
    assert users.get_item(Key=key)["Item"]["age"] == 26
    users.delete_item(Key=key)
    with users.batch_writer() as batch:
        for number in range(50):
            batch.put_item(Item={"username": f"user{number}", "last_name": "x", "age": number})
    assert users.query(KeyConditionExpression=Key("username").eq("user7"))["Count"] == 1
    assert users.scan(FilterExpression=Attr("age").lt(27))["Count"] == 27
    batch = dynamodb.batch_get_item(RequestItems={"users": {"Keys": [{"username": "user1", "last_name": "x"}]}})
    assert len(batch["Responses"]["users"]) == 1
    users.delete()
    users.wait_until_not_exists()


def queues():
    sqs = boto3.resource("sqs")
    listen(sqs.meta.client)
    queue = sqs.create_queue(QueueName="test", Attributes={"DelaySeconds": "0"})
    assert sqs.get_queue_by_name(QueueName="test").url == queue.url
    assert queue.attributes["DelaySeconds"] == "0"
    assert queue.url in [other.url for other in sqs.queues.all()]
    author = {"Author": {"StringValue": "Daniel", "DataType": "String"}}
    assert queue.send_message(MessageBody="world", MessageAttributes=author)["MD5OfMessageBody"]
    sent = queue.send_messages(Entries=[{"Id": "1", "MessageBody": "world"}, {"Id": "2", "MessageBody": "boto3"}])
    assert len(sent["Successful"]) == 2 and not sent.get("Failed")
    received = 0
    while received < 3:
        for message in queue.receive_messages(MessageAttributeNames=["Author"], MaxNumberOfMessages=10):
            message.change_visibility(VisibilityTimeout=30)
            message.delete()
            received += 1
    queue.purge()
    queue.delete()


if __name__ == "__main__":
    import sys

    for part in sys.argv[1:] or ["tables", "queues"]:
        globals()[part]()
    print(", ".join(sorted(set(events))))
