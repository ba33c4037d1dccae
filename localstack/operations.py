"""Prints the table of the operations that the guides have tried: operations.py FILE DYNALITE GO

Each line of the file has an operation, a client and an emulator, separated by tabs.
"""

import importlib.metadata
import sys

import awscli
import boto3

CLIENTS = ["cli", "boto3", "go"]
QUEUES = ("Message", "Queue")

lines, dynalite, go = sys.argv[1:]
tried = {}
with open(lines) as file:
    for line in file:
        operation, client, emulator = line.rstrip("\n").split("\t")
        emulators = tried.setdefault(operation, {}).setdefault(client, [])
        if emulator not in emulators:
            emulators.append(emulator)

moto = importlib.metadata.version("moto-ext")
localstack = importlib.metadata.version("localstack-core")
print(f"""# Operations that were tried

`localstack/limits operations` runs the guides for DynamoDB and SQS, unchanged but for the endpoint, through `throttled-aws`, and writes this
page: version {awscli.__version__} of the AWS CLI, which is its first major one, boto3 {boto3.__version__}, and the SDK for Go, version 2
(`dynamodb` {go}). They are in front of {dynalite}, LocalStack {localstack} (queues), moto {moto}, and alone.

| operation | AWS CLI | boto3 | Go |
|---|---|---|---|""")
for operation in sorted(tried, key=lambda name: (any(part in name for part in QUEUES), name)):
    cells = (", ".join(tried[operation].get(client, ["–"])) for client in CLIENTS)
    print(f"| `{operation}` | {' | '.join(cells)} |")
print("""
What is not there was not tried. An index is added to a table in front of moto alone: dynalite ignores it, and `--alone` refuses it.
Version 1 of the AWS CLI takes the endpoint for SQS by `--endpoint-url`, not from `AWS_ENDPOINT_URL`.""")
