"""The calls of `distributed` and `fleet` to the emulators: creates the table, the activity and the state machine, and checks the result."""

import json
import os
import sys
import time
import urllib.request
from pathlib import Path

import boto3

TABLE, BUCKET, PLAN, NAME = "shards", "plans", "plan.json", "deliver"
ROLE = "arn:aws:iam::000000000000:role/unused"

step_functions = boto3.client("stepfunctions", endpoint_url=os.environ["AWS_ENDPOINT_URL_SFN"])
dynamodb = boto3.client("dynamodb")
s3 = boto3.client("s3")


def generate(folder, files, lines):
    """Writes files of items with different ids and line lengths."""
    for file in range(int(files)):
        with open(Path(folder) / f"{file}.jsonl", "w") as output:
            for line in range(int(lines)):
                item = {"id": f"{file}-{line}", "text": "x" * (line * 7919 % 200)}
                output.write(json.dumps(item) + "\n")


def create(folder, definition, heartbeat):
    """Creates the resources, and prints the ARN of the activity."""
    dynamodb.create_table(
        TableName=TABLE,
        AttributeDefinitions=[{"AttributeName": "id", "AttributeType": "S"}],
        KeySchema=[{"AttributeName": "id", "KeyType": "HASH"}],
        BillingMode="PAY_PER_REQUEST",
    )
    s3.create_bucket(Bucket=BUCKET)
    s3.put_object(Bucket=BUCKET, Key=PLAN, Body=(Path(folder) / PLAN).read_bytes())
    activity = step_functions.create_activity(name=NAME)["activityArn"]
    definition = Path(definition).read_text().replace("${ActivityArn}", activity)
    definition = definition.replace('"HeartbeatSeconds": 60', f'"HeartbeatSeconds": {heartbeat}')
    machine = step_functions.create_state_machine(name=NAME, definition=definition, roleArn=ROLE)
    (Path(folder) / "machine").write_text(machine["stateMachineArn"])
    print(activity)


def begin(folder):
    """Starts the state machine."""
    machine = (Path(folder) / "machine").read_text()
    execution = step_functions.start_execution(
        stateMachineArn=machine, input=json.dumps({"bucket": BUCKET, "plan": PLAN})
    )
    (Path(folder) / "execution").write_text(execution["executionArn"])


def finish(folder):
    """Waits for the end of the state machine, and compares the table with the input."""
    execution = (Path(folder) / "execution").read_text()
    deadline = time.monotonic() + 180
    while (state := step_functions.describe_execution(executionArn=execution))["status"] == "RUNNING":
        if time.monotonic() > deadline:
            sys.exit("the state machine has not ended after 180 s")
        time.sleep(0.2)
    seconds = (state["stopDate"] - state["startDate"]).total_seconds()
    print(f"the state machine: {state['status']} after {seconds:.1f} s")
    wanted = {}
    for file in Path(folder).glob("*.jsonl"):
        for line in file.read_text().splitlines():
            item = json.loads(line)
            wanted[item["id"]] = item["text"]
    found = {}
    for page in dynamodb.get_paginator("scan").paginate(TableName=TABLE, ConsistentRead=True):
        found |= {item["id"]["S"]: item["text"]["S"] for item in page["Items"]}
    missing = sum(found.get(key) != text for key, text in wanted.items())
    more = len(found.keys() - wanted.keys())
    print(f"the table: {len(wanted):,} lines in the input, {missing} of them missing, {more} items that are in no input")
    if state["status"] != "SUCCEEDED" or missing or more:
        sys.exit(f"not every line is in the table: {state.get('error')} {state.get('cause')}")
    print("every line of the input is in the table")


def rejected(url):
    """Prints what throttled-aws has rejected."""
    with urllib.request.urlopen(f"{url}/_throttled/figures") as answer:
        table = json.load(answer)["dynamodb"][TABLE]
    sent = table["accepted"] + table["throttled"]
    print(f"{table['throttled'] / sent:.2%} of {sent:,} writes were rejected, in {table['calls']:,} calls")


if __name__ == "__main__":
    {"generate": generate, "create": create, "begin": begin, "finish": finish, "rejected": rejected}[sys.argv[1]](*sys.argv[2:])
