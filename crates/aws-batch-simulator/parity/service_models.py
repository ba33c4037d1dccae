"""Compares the limits, values and error codes that the library and the simulator name with the service models of AWS.

    service_models.py WHEEL

WHEEL is one of botocore, AWS's own library for Python, which holds the models that all SDKs are generated from:
`pip download --no-deps botocore`. Fails if a number differs, or if an error of a call has no meaning to the library and no reason here.
"""

import gzip
import json
import re
import sys
import zipfile
from pathlib import Path

ROOT = Path(__file__).resolve().parents[3]
LIBRARY = "src/services/"
SIMULATOR = "crates/aws-batch-simulator/src/"

# The file and the constant, and the shape of the model whose largest length or value it is.
LIMITS = [
    (LIBRARY + "dynamo/reads.rs", "MAX_KEYS", "dynamodb", "KeyList"),
    (LIBRARY + "kinesis/stream.rs", "MAX_RECORDS", "kinesis", "PutRecordsRequestEntryList"),
    (LIBRARY + "firehose.rs", "MAX_RECORDS", "firehose", "PutRecordBatchRequestEntryList"),
    (LIBRARY + "firehose.rs", "MAX_RECORD_BYTES", "firehose", "Data"),
    (LIBRARY + "eventbridge.rs", "MAX_EVENTS", "events", "PutEventsRequestEntryList"),
    (LIBRARY + "cloudwatch_logs.rs", "MAX_EVENTS", "logs", "InputLogEvents"),
    (LIBRARY + "cloudwatch/check.rs", "MAX_DIMENSIONS", "cloudwatch", "Dimensions"),
    (LIBRARY + "cloudwatch/check.rs", "MAX_NAME_LENGTH", "cloudwatch", "MetricName"),
    (LIBRARY + "cloudwatch/check.rs", "MAX_NAME_LENGTH", "cloudwatch", "DimensionName"),
    (LIBRARY + "cloudwatch/check.rs", "MAX_NAME_LENGTH", "cloudwatch", "Namespace"),
    (LIBRARY + "cloudwatch/check.rs", "MAX_DIMENSION_VALUE_BYTES", "cloudwatch", "DimensionValue"),
    (SIMULATOR + "dynamo/request.rs", "MOST_WRITES", "dynamodb", "WriteRequests"),
    (SIMULATOR + "dynamo/get.rs", "MOST_KEYS", "dynamodb", "KeyList"),
    (SIMULATOR + "dynamo/actions.rs", "MOST_ACTIONS", "dynamodb", "TransactWriteItemList"),
    (SIMULATOR + "dynamo/tokens.rs", "LONGEST", "dynamodb", "ClientRequestToken"),
    (SIMULATOR + "dynamo/scan.rs", "MOST_SEGMENTS", "dynamodb", "ScanTotalSegments"),
    (SIMULATOR + "kinesis/put.rs", "MOST_RECORDS", "kinesis", "PutRecordsRequestEntryList"),
    (SIMULATOR + "kinesis/put.rs", "LONGEST_KEY", "kinesis", "PartitionKey"),
    (SIMULATOR + "firehose.rs", "MOST_RECORDS", "firehose", "PutRecordBatchRequestEntryList"),
    (SIMULATOR + "firehose.rs", "LARGEST_RECORD", "firehose", "Data"),
    (SIMULATOR + "eventbridge/put.rs", "MOST_EVENTS", "events", "PutEventsRequestEntryList"),
    (SIMULATOR + "cloudwatch.rs", "MOST_DIMENSIONS", "cloudwatch", "Dimensions"),
]

# The file and the constant with the values of a member, and the shape that has them.
ENUMS = [
    (SIMULATOR + "dynamo/change.rs", "CAPACITY", "dynamodb", "ReturnConsumedCapacity"),
    (SIMULATOR + "dynamo/request.rs", "METRICS", "dynamodb", "ReturnItemCollectionMetrics"),
    (SIMULATOR + "dynamo/single.rs", "VALUES", "dynamodb", "ReturnValue"),
]

# The calls of the library.
CALLS = {
    "cloudwatch": ["PutMetricData"],
    "dynamodb": [
        "BatchGetItem",
        "BatchWriteItem",
        "DeleteItem",
        "DescribeTable",
        "PutItem",
        "Query",
        "Scan",
        "TransactWriteItems",
        "UpdateItem",
    ],
    "events": ["DescribeEventBus", "PutEvents"],
    "firehose": ["PutRecordBatch"],
    "kinesis": ["DescribeStreamSummary", "ListShards", "PutRecords"],
    "logs": ["PutLogEvents"],
    "s3": ["DeleteObject", "DeleteObjects", "GetObject", "PutObject"],
    "sns": ["GetTopicAttributes", "PublishBatch"],
    "sqs": [
        "ChangeMessageVisibilityBatch",
        "DeleteMessageBatch",
        "GetQueueAttributes",
        "ReceiveMessage",
        "SendMessageBatch",
    ],
}

# Errors that the table of codes does not have to name, and why. What it does not name is disputed if its status is one of 4xx.
ELSEWHERE = {
    "ConditionalCheckFailedException": "the verdict on a conditional write",
    "IdempotentParameterMismatchException": "the verdict on a transaction",
    "TransactionCanceledException": "the verdict on a transaction",
    "NoSuchKey": "an object that is not there",
    "DataAlreadyAcceptedException": "no longer returned, says the reference of PutLogEvents",
    "InvalidSequenceTokenException": "no longer returned, says the reference of PutLogEvents",
    "EncryptionTypeMismatch": "of appended objects, which the library does not write",
    "InvalidWriteOffset": "of appended objects, which the library does not write",
    "TooManyParts": "of appended objects, which the library does not write",
    "InvalidRequest": "of an object with wrong options, refused or not by its own",
    "InvalidObjectState": "of an archived object: the read of one object, not of a batch",
    "ExpiredNextTokenException": "of a list of shards, which is read anew",
    "ResourceInUseException": "of a list of shards, which is read anew",
    "InvalidAttributeName": "of a lookup, whose attributes exist",
}


def model(wheel, service):
    folder = re.compile(rf"botocore/data/{service}/[^/]+/service-2\.json(\.gz)?")
    name = max(name for name in wheel.namelist() if folder.fullmatch(name))
    content = wheel.read(name)
    return json.loads(gzip.decompress(content) if name.endswith(".gz") else content)


def definition(path, name):
    """The right-hand side of a constant."""
    text = (ROOT / path).read_text()
    found = re.search(rf"\bconst {name}: [^=]+= ([^;]+);", text)
    if not found:
        sys.exit(f"{path} has no constant {name}")
    return found[1]


def number(path, name):
    product = 1
    for factor in definition(path, name).split("*"):
        product *= int(factor.strip().replace("_", ""))
    return product


def strings(text):
    return set(re.findall(r'"([^"]*)"', re.sub(r"//.*", "", text)))


def main():
    wheel = zipfile.ZipFile(sys.argv[1])
    models = {service: model(wheel, service) for service in CALLS}
    problems = []
    for path, name, service, shape in LIMITS:
        ours, theirs = number(path, name), models[service]["shapes"][shape].get("max")
        if ours != theirs:
            problems.append(f"{path}: {name} is {ours}, {shape} of {service} has at most {theirs}")
    for path, name, service, shape in ENUMS:
        ours, theirs = strings(definition(path, name)), set(models[service]["shapes"][shape]["enum"])
        if ours != theirs:
            problems.append(f"{path}: {name} is {sorted(ours)}, {shape} of {service} is {sorted(theirs)}")

    known = strings((ROOT / "src/aws/classify/codes.rs").read_text().split("pub(super) const MEANINGS")[0])
    checked, explained, unnamed = 0, 0, set()
    for service, calls in CALLS.items():
        for call in calls:
            for error in models[service]["operations"][call].get("errors", []):
                checked += 1
                code = models[service]["shapes"][error["shape"]].get("error", {}).get("code", error["shape"])
                # SQS has two spellings, of which the table has the one without its namespace.
                code = code.rsplit(".", 1)[-1]
                is_of_key = code.startswith(("KMS", "Kms"))
                if code in known or is_of_key:
                    continue
                if code in ELSEWHERE:
                    explained += 1
                else:
                    unnamed.add(f"{call} of {service} may fail with {code}, which src/aws/classify/codes.rs does not name")
    problems += sorted(unnamed)
    print(f"{len(LIMITS)} limits, {len(ENUMS)} enums and {checked} errors of calls compared")
    print(f"{explained} errors are not named for a reason, {len(problems)} differences without one")
    for problem in problems:
        print(f"  {problem}")
    return 1 if problems else 0


if __name__ == "__main__":
    sys.exit(main())
