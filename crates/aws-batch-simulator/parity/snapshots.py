"""Makes calls whose answers LocalStack has recorded on AWS, and compares what the simulator answers with the recordings.

`CLONE` is a clone of LocalStack, of which only the recorded answers are read: `tests/aws/services/*/test_*.snapshot.json`. Each call below is
the one that the recording with its name was made of. What differs and is not in `differences_snapshots.tsv` is an error, and so is what is
listed and does not. Kinesis and Firehose have no recordings of calls that the simulator has.

usage: snapshots.py CLONE PROGRAM
"""

import json
import pathlib
import subprocess
import sys

import boto3
from botocore.config import Config
from botocore.exceptions import ClientError

import recordings

ACCOUNT = "000000000000"
TOPIC = f"arn:aws:sns:us-east-1:{ACCOUNT}:"


class Simulator:
    """The simulator, with clients of its services."""

    def __init__(self, program):
        self.process = subprocess.Popen([program], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
        self.endpoint = self.process.stdout.readline().strip()

    def create(self, **request):
        self.process.stdin.write(json.dumps(request) + "\n")
        self.process.stdin.flush()
        if self.process.stdout.readline().strip() != "created":
            raise ValueError(request)

    def client(self, service):
        config = Config(
            parameter_validation=False,
            retries={"total_max_attempts": 1},
            s3={"addressing_style": "path"},
            request_checksum_calculation="when_required",
        )
        return boto3.client(
            service,
            endpoint_url=self.endpoint,
            region_name="us-east-1",
            aws_access_key_id="key",
            aws_secret_access_key="secret",
            config=config,
        )

    def close(self):
        self.process.stdin.close()
        self.process.wait(timeout=10)


def of_queues(simulator):
    simulator.create(QueueName="queue")
    simulator.create(QueueName="small", Attributes={"MaximumMessageSize": "1024"})
    simulator.create(QueueName="queue.fifo", Attributes={"FifoQueue": "true"})
    sqs = simulator.client("sqs")

    def url(name):
        return f"{simulator.endpoint}/{ACCOUNT}/{name}"

    def send(name, *entries):
        return lambda: sqs.send_message_batch(QueueUrl=url(name), Entries=list(entries))

    def entry(number, body="body", **more):
        return {"Id": str(number), "MessageBody": body, **more}

    many = [entry(number) for number in range(20)]
    handles = [{"Id": str(number), "ReceiptHandle": "handle"} for number in range(20)]
    hidden = [{**handle, "VisibilityTimeout": 1} for handle in handles]
    attribute = {"k": {"DataType": "String", "StringValue": "x"}}
    oversized = "a" * (1_048_576 - len("kStringx"))
    yield "test_too_many_entries_in_batch_request[sqs]", "test_too_many_entries_in_batch_request", send("queue", *many)
    yield "test_invalid_batch_id[sqs]", "test_invalid_batch_id", send("queue", {**entry(1), "Id": "message:01"})
    yield (
        "test_send_message_batch_with_oversized_contents[sqs]",
        "send_oversized_message_batch",
        send("queue", entry(1, oversized, MessageAttributes=attribute), entry(2, "a")),
    )
    yield (
        "test_send_batch_message_size",
        "send-message-batch-result",
        send("small", entry("fits", "a" * 1_024), entry("too-large", "a" * 1_025)),
    )
    yield (
        "test_send_batch_missing_deduplication_id_for_fifo_queue[sqs]",
        "test_missing_deduplication_id_for_fifo_queue",
        send("queue.fifo", entry(1, MessageGroupId="group", MessageDeduplicationId="id"), entry(2, MessageGroupId="group")),
    )
    yield (
        "test_send_batch_missing_message_group_id_for_fifo_queue[sqs]",
        "test_missing_message_group_id_for_fifo_queue",
        send("queue.fifo", entry(1, MessageGroupId="group", MessageDeduplicationId="id"), entry(2, MessageDeduplicationId="other")),
    )
    for identity in ["", "testLongId" * 10, "invalid:id"]:
        yield (
            f"test_delete_message_batch_invalid_msg_id[sqs-{identity}]",
            "error_response",
            lambda identity=identity: sqs.delete_message_batch(
                QueueUrl=url("queue"), Entries=[{"Id": identity, "ReceiptHandle": "handle"}]
            ),
        )
    yield (
        "test_delete_message_batch_with_too_large_batch[sqs]",
        "error_response",
        lambda: sqs.delete_message_batch(QueueUrl=url("queue"), Entries=handles),
    )
    yield (
        "test_change_message_visibility_batch_with_too_large_batch[sqs]",
        "error_response",
        lambda: sqs.change_message_visibility_batch(QueueUrl=url("queue"), Entries=hidden),
    )


def of_topics(simulator):
    simulator.create(Topic="topic")
    simulator.create(Topic="topic.fifo")
    sns = simulator.client("sns")

    def publish(arn, *entries):
        return lambda: sns.publish_batch(TopicArn=arn, PublishBatchRequestEntries=list(entries))

    def entry(identity="1", message="message", **more):
        return {"Id": identity, "Message": message, **more}

    topic, fifo = TOPIC + "topic", TOPIC + "topic.fifo"
    batch = "test_publish_batch_exceptions"
    yield batch, "no-group-id", publish(fifo, entry())
    yield batch, "too-many-msg", publish(fifo, *[entry(f"Id_{number}") for number in range(11)])
    yield batch, "same-msg-id", publish(fifo, entry(), entry())
    yield batch, "no-dedup-id", publish(fifo, entry(MessageGroupId="group"))
    structured = {"MessageStructure": "json"}
    yield batch, "no-default-key-json", publish(fifo, entry(message='{"sqs": "test"}', **structured))
    structure = "test_message_structure_json_exc"
    yield structure, "missing-default-key", publish(topic, entry(message='{"sqs": "test"}', **structured))
    yield structure, "invalid-json", publish(topic, entry(message='{"default": "test", sqs}', **structured))
    yield structure, "key-is-not-string", publish(topic, entry(message='{"default": {"object": "test"}}', **structured))
    yield "test_publish_with_empty_subject", "response-with-empty-subject", publish(topic, entry(Subject=""))
    yield "test_publish_batch_messages_without_topic", "publish-batch-no-topic", publish(TOPIC + "fake-topic", entry())
    elsewhere = topic.replace("us-east-1", "eu-west-1")
    yield "test_topic_publish_another_region", "error-batch", publish(elsewhere, entry())
    yield "test_publish_wrong_arn_format", "invalid-topic-arn", publish("randomstring", entry())
    half = 262_144 // 2
    yield "test_publish_batch_too_long_message", "error-no-attrs", publish(topic, entry("1", "a" * half), entry("2", "b" * (half + 1)))
    attributes = {"attr1": {"DataType": "Number", "StringValue": "1"}}
    largest = "a" * (262_144 - len("attr1Number1"))
    yield (
        "test_publish_batch_too_long_message",
        "error-with-attrs",
        publish(topic, entry("1", largest, MessageAttributes=attributes), entry("2", "b")),
    )
    identities = "test_publish_batch_invalid_entry_id"
    for name, identity in [
        ("invalid-char-dot", "message.id"),
        ("invalid-char-special", "msg@123#test"),
        ("id-too-long-81", "a" * 81),
        ("valid-id-80-chars", "a" * 80),
        ("valid-id-with-hyphen-underscore", "valid-message_123"),
    ]:
        yield identities, name, publish(topic, entry(identity))


def of_buses(simulator):
    simulator.create(EventBus="default")
    events = simulator.client("events")

    def put(count=1, **event):
        return lambda: events.put_events(Entries=[event] * count)

    event = {"Source": "core.update-account-command", "DetailType": "core.update-account-command", "Detail": "{}"}

    def without(member):
        return {name: value for name, value in event.items() if name != member}

    yield "test_put_events_without_source", "put-events", put(**without("Source"))
    yield "test_put_event_without_detail", "put-events", put(**without("Detail"))
    yield "test_put_event_without_detail_type", "put-events", put(**without("DetailType"))
    too_big = json.dumps({"payload": "a" * 1_048_576})
    yield "test_put_event_with_too_big_detail", "put-events-too-big-detail-error", put(**{**event, "Detail": too_big})
    for kind, detail in [
        ("ARRAY", '["a"]'),
        ("MALFORMED_JSON", '{"a": '),
        ("SERIALIZED_STRING", '"a"'),
        ("STRING", "a"),
    ]:
        yield f"test_put_event_malformed_detail[{kind}]", "put-events", put(**{**event, "Detail": detail})
    yield "test_put_events_exceed_limit_ten_entries[default]", "put-events-exceed-limit-error", put(11, **event)


def of_buckets(simulator):
    simulator.create(Bucket="bucket")
    s3 = simulator.client("s3")

    def put(key="key", **more):
        return lambda: s3.put_object(Bucket="bucket", Key=key, Body=b"body", **more)

    def delete(**more):
        return lambda: s3.delete_object(Bucket="bucket", Key="key", **more)

    none = "test_put_object_if_none_match"
    yield none, "put-obj", put()
    yield none, "put-obj-if-none-match", put(IfNoneMatch="*")
    yield none, "del-obj", delete()
    yield none, "put-obj-after-del", put(IfNoneMatch="*")
    yield f"{none}_validation", "put-obj-if-none-match-bad-value", put(IfNoneMatch="d41d8cd98f00b204e9800998ecf8427e")
    match = "test_put_object_if_match"
    etag = '"841a2d689ad86bd1611447453c22c6fc"'
    yield match, "put-obj-if-match-wrong-etag", put(IfMatch='"d41d8cd98f00b204e9800998ecf8427e"')
    yield match, "put-obj-overwrite", put(IfMatch=etag)
    yield match, "put-obj-if-match-key-not-exists", put("other", IfMatch=etag)
    yield f"{match}_validation", "put-obj-if-match-star-value", put(IfMatch="*")
    yield f"{match}_and_if_none_match_validation", "put-obj-both-precondition", put(IfMatch=etag, IfNoneMatch="*")
    yield "test_delete_object_if_match_non_express", "delete-obj-if-match", delete(IfMatch="badvalue")


# The calls of each service, and the file with its recordings.
SERVICES = {
    "sqs/test_sqs": of_queues,
    "sns/test_sns": of_topics,
    "events/test_events": of_buses,
    "s3/test_s3_api": of_buckets,
}


def essence(answer):
    """What must be the same: status, code and message of an error, and the failures of entries."""
    error = answer.get("Error", {})
    entries = [*answer.get("Failed", []), *answer.get("Entries", [])]
    failures = [
        (entry.get("Code") or entry.get("ErrorCode"), entry.get("Message") or entry.get("ErrorMessage"))
        for entry in entries
        if "Code" in entry or "ErrorCode" in entry
    ]
    return answer["ResponseMetadata"]["HTTPStatusCode"], error.get("Code"), error.get("Message"), failures


def answer_of(call):
    try:
        return call()
    except ClientError as error:
        return error.response


def main(clone, program):
    outcomes = {}
    for file, calls in SERVICES.items():
        text = (pathlib.Path(clone) / f"tests/aws/services/{file}.snapshot.json").read_text()
        recorded = {name.rpartition("::")[2]: test["recorded-content"] for name, test in json.loads(text).items()}
        simulator = Simulator(program)
        try:
            for test, name, call in calls(simulator):
                ours, theirs = essence(answer_of(call)), essence(recorded[test][name])
                same = ours == theirs
                outcomes[f"{file}::{test}::{name}"] = "passed" if same else "failed"
                if not same:
                    print(f"{file}::{test}::{name}\n  simulator: {ours}\n  recorded:  {theirs}"[:900])
        finally:
            simulator.close()
    return recordings.report(outcomes, "differences_snapshots.tsv")


if __name__ == "__main__":
    if len(sys.argv) != 3:
        sys.exit(__doc__)
    sys.exit(main(*sys.argv[1:]))
