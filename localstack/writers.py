"""Writes items into tables behind throttled-aws, and prints how fast that was and what became of them.

    writers.py create TABLE…
    writers.py items NUMBER                      prints them as JSON lines
    writers.py fill TABLE NUMBER                 as fast as it goes
    writers.py write TABLE NUMBER THREADS        each with a batch_writer of boto3
    writers.py figures TABLE NUMBER [FROM TO]    fails unless each item is there, once; FROM and TO are seconds since 1970
"""

import json
import os
import sys
import threading
import urllib.request

import boto3


def item(number):
    return {"id": f"{number:06}", "text": "x" * 100}


def create(*names):
    dynamodb = boto3.resource("dynamodb")
    for name in names:
        dynamodb.create_table(
            TableName=name,
            KeySchema=[{"AttributeName": "id", "KeyType": "HASH"}],
            AttributeDefinitions=[{"AttributeName": "id", "AttributeType": "S"}],
            BillingMode="PAY_PER_REQUEST",
        ).wait_until_exists()


def items(number):
    for index in range(int(number)):
        print(json.dumps(item(index)))


def write(name, number, threads):
    number, threads = int(number), int(threads)

    def part(first):
        # A session of its own: those of boto3 are not for several threads.
        with boto3.Session().resource("dynamodb").Table(name).batch_writer() as batch:
            for index in range(first, number, threads):
                batch.put_item(Item=item(index))

    running = [threading.Thread(target=part, args=(first,)) for first in range(threads)]
    for thread in running:
        thread.start()
    for thread in running:
        thread.join()


def fill(name, number):
    write(name, number, 4)


def figures(name, number, *times):
    endpoint = os.environ["AWS_ENDPOINT_URL"]
    figures = json.load(urllib.request.urlopen(endpoint + "/_throttled/figures"))["dynamodb"][name]
    journal = json.load(urllib.request.urlopen(f"{endpoint}/_throttled/journal?destination={name}"))
    accepted = [entry["at"] for entry in journal["entries"] if entry["outcome"] == "accepted"]
    assert journal["dropped"] == 0
    pages = boto3.client("dynamodb").get_paginator("scan").paginate(TableName=name, Select="COUNT")
    there = sum(page["Count"] for page in pages)
    applied = figures["applied"]["put"]
    assert there == applied["keys"] == int(number) and applied["twice"] == 0, (there, applied)
    # What was accepted between the first and the last quarter: neither the start nor the end counts.
    middle = accepted[len(accepted) // 4 : 3 * len(accepted) // 4]
    seconds = (middle[-1] - middle[0]) / 1000
    line = f"{name}: {there} items, {figures['throttled']} sent again, {len(middle) / seconds:.0f} a second in the middle half"
    if times:
        whole = float(times[1]) - float(times[0])
        line += f", {whole:.1f} s with the start of the program: {there / whole:.0f} a second"
    print(line)


if __name__ == "__main__":
    globals()[sys.argv[1]](*sys.argv[2:])
