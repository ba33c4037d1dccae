"""The calls of `functions` to MiniStack: a function that delivers shards, and runs of a state machine that invokes it."""

import json
import os
import subprocess
import sys
import time
import zipfile
from pathlib import Path

import boto3

BUCKET, TABLE, NAME = "shards", "shards", "deliver"
ROLE = "arn:aws:iam::000000000000:role/unused"
FILES, LINES, SHARDS = 2, 2_000, 40

s3 = boto3.client("s3")
dynamodb = boto3.client("dynamodb")
functions = boto3.client("lambda")
step_functions = boto3.client("stepfunctions")


def set_up(program, examples, folder):
    """Creates the bucket, the table, the function with its program, and the state machine."""
    s3.create_bucket(Bucket=BUCKET)
    dynamodb.create_table(
        TableName=TABLE,
        AttributeDefinitions=[{"AttributeName": "id", "AttributeType": "S"}],
        KeySchema=[{"AttributeName": "id", "KeyType": "HASH"}],
        BillingMode="PAY_PER_REQUEST",
    )
    package = Path(folder) / "function.zip"
    with zipfile.ZipFile(package, "w", zipfile.ZIP_DEFLATED, compresslevel=1) as archive:
        archive.write(program, "batch-deliver")
        archive.write(Path(examples) / "bootstrap", "bootstrap")
    s3.upload_file(str(package), BUCKET, "function.zip")
    function = functions.create_function(
        FunctionName=NAME,
        Runtime="provided.al2023",
        Handler="bootstrap",
        Role=ROLE,
        Timeout=120,
        Code={"S3Bucket": BUCKET, "S3Key": "function.zip"},
        Environment={
            "Variables": {
                "TABLE": TABLE,
                "DEAD_LETTERS": f"s3://{BUCKET}/letters/",
                "CHECKPOINTS": f"s3://{BUCKET}/checkpoints/",
                # AWS's own without this.
                "AWS_ENDPOINT_URL": os.environ["AWS_ENDPOINT_URL"],
            }
        },
    )
    definition = (Path(examples) / "state-machine-lambda.json").read_text()
    definition = definition.replace("${FunctionArn}", function["FunctionArn"])
    # As plans are with `--lines`.
    definition = definition.replace('"InputType": "JSON"', '"InputType": "JSONL"')
    # Few at once: each is a process of this machine.
    definition = definition.replace('"MaxConcurrency": 16', '"MaxConcurrency": 4')
    machine = step_functions.create_state_machine(name=NAME, definition=definition, roleArn=ROLE)
    return machine["stateMachineArn"]


def generate(name, files):
    """Puts objects of items, and returns what the table must contain afterwards."""
    wanted = {}
    for file in range(files):
        lines = []
        for line in range(LINES):
            item = {"id": f"{name}-{file}-{line}", "text": "x" * (line * 7919 % 200)}
            wanted[item["id"]] = item["text"]
            lines.append(json.dumps(item) + "\n")
        s3.put_object(Bucket=BUCKET, Key=f"{name}/{file}.jsonl", Body="".join(lines).encode())
    return wanted


def found():
    """The items of the table."""
    items = {}
    for page in dynamodb.get_paginator("scan").paginate(TableName=TABLE, ConsistentRead=True):
        items |= {item["id"]["S"]: item["text"]["S"] for item in page["Items"]}
    return items


def deliver(program, machine, name, bad):
    """Plans the objects with this name and this many bad ones, and waits for the end of the state machine."""
    wanted = generate(name, FILES)
    for file in range(bad):
        s3.put_object(Bucket=BUCKET, Key=f"{name}/bad-{file}.jsonl", Body=b"oops\n")
    size = sum(s3.head_object(Bucket=BUCKET, Key=f"{name}/{file}.jsonl")["ContentLength"] for file in range(FILES))
    command = [program, "plan", "--lines", "--shard-bytes", str(-(-size // (SHARDS - bad)) + 1), f"s3://{BUCKET}/{name}/"]
    plan = subprocess.run(command, check=True, stdout=subprocess.PIPE).stdout
    shards = plan.decode().splitlines()
    s3.put_object(Bucket=BUCKET, Key=f"{name}.plan", Body=plan)
    execution = step_functions.start_execution(
        stateMachineArn=machine, name=name, input=json.dumps({"bucket": BUCKET, "plan": f"{name}.plan"})
    )["executionArn"]
    deadline = time.monotonic() + 180
    while (state := step_functions.describe_execution(executionArn=execution))["status"] == "RUNNING":
        if time.monotonic() > deadline:
            sys.exit("the state machine has not ended after 180 s")
        time.sleep(0.2)
    items = found()
    missing = sum(items.get(key) != text for key, text in wanted.items())
    ended = f"{state['status']} {state.get('error', '')}".strip()
    print(
        f"{bad} bad of {len(shards)} shards: {ended}\n"
        f"  {len(wanted):,} lines in the good ones, {missing} of them missing"
    )
    if missing:
        sys.exit("not every line is in the table")
    return state["status"], state.get("error")


def main(program, examples, folder):
    machine = set_up(program, examples, folder)
    # 5 % do not stop the others.
    expected = {
        "none": (0, ("SUCCEEDED", None)),
        "few": (1, ("FAILED", "UndeliveredShards")),
        "many": (4, ("FAILED", "States.ExceedToleratedFailureThreshold")),
    }
    for name, (bad, outcome) in expected.items():
        ended = deliver(program, machine, name, bad)
        if ended != outcome:
            sys.exit(f"{ended} instead of {outcome}")


if __name__ == "__main__":
    main(*sys.argv[1:])
