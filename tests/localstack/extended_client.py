"""The Extended Client Library for Python, at the other end of the tests: `receive QUEUE` or `send QUEUE BUCKET`.

It speaks JSON, one message a line: `send` reads them, `receive` prints them.
"""

import json
import os
import sys

from sqs_extended_client import SQSExtendedClientSession

# Seconds without a message after which a queue counts as empty.
SILENCE = 2

# Standard input and output take the locale's encoding otherwise.
sys.stdin.reconfigure(encoding="utf-8")
sys.stdout.reconfigure(encoding="utf-8")

sqs = SQSExtendedClientSession(region_name=os.environ["AWS_REGION"]).client("sqs")


def receive(queue):
    """Deletes what it has received, and its object too."""
    sqs.delete_payload_from_s3 = True
    while messages := sqs.receive_message(
        QueueUrl=queue,
        MaxNumberOfMessages=10,
        WaitTimeSeconds=SILENCE,
        MessageAttributeNames=["All"],
        MessageSystemAttributeNames=["All"],
    ).get("Messages"):
        for message in messages:
            attributes = message.get("MessageAttributes", {})
            print(
                json.dumps(
                    {
                        "body": message["Body"],
                        "attributes": {name: value.get("StringValue") for name, value in attributes.items()},
                        "group": message["Attributes"].get("MessageGroupId"),
                    }
                )
            )
            sqs.delete_message(QueueUrl=queue, ReceiptHandle=message["ReceiptHandle"])


def send(queue, bucket):
    sqs.large_payload_support = bucket
    sqs.always_through_s3 = True
    for line in sys.stdin:
        message = json.loads(line)
        attributes = {
            name: {"DataType": "String", "StringValue": value} for name, value in message["attributes"].items()
        }
        sqs.send_message(QueueUrl=queue, MessageBody=message["body"], MessageAttributes=attributes)


{"receive": receive, "send": send}[sys.argv[1]](*sys.argv[2:])
