"""Writes items into tables behind throttled-aws, and prints how fast that was and what became of them.

    writers.py create TABLE…
    writers.py items NUMBER                      prints them as JSON lines
    writers.py fill TABLE NUMBER                 as fast as it goes
    writers.py write TABLE NUMBER THREADS        each with a batch_writer of boto3
    writers.py figures TABLE NUMBER              fails unless each item is there, once
    writers.py timed TABLE NUMBER COMMAND…       the same after a command that writes them, with its seconds
"""

import json
import os
import subprocess
import sys
import threading
import time
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


def request(path, method="GET"):
    return urllib.request.urlopen(urllib.request.Request(os.environ["AWS_ENDPOINT_URL"] + "/_throttled/" + path, method=method))


def figures_of(name):
    everything = json.load(request("figures"))
    assert everything["journal_dropped"] == 0, "the journal of limits.toml is too short for these writers"
    return everything.get("dynamodb", {}).get(name, {"accepted": 0})


def figures(name, number):
    pages = boto3.client("dynamodb").get_paginator("scan").paginate(TableName=name, Select="COUNT")
    there = sum(page["Count"] for page in pages)
    of_it = figures_of(name)
    applied = of_it["applied"]["put"]
    assert there == applied["keys"] == int(number) and applied["twice"] == 0, (there, applied)
    print(f"{name}: {there} items, {of_it['throttled']} sent again")


def timed(name, number, *command):
    # Buckets and the journal are as at the start.
    request("reset", "POST")
    items, started, samples = int(number), time.monotonic(), []
    with subprocess.Popen(command, stdout=sys.stderr) as writer:
        while writer.poll() is None:
            # They are counted anew for each answer.
            if not samples or time.monotonic() - samples[-1][0] > items / 20000:
                samples.append((time.monotonic(), figures_of(name)["accepted"]))
            time.sleep(0.1)
    seconds = time.monotonic() - started
    assert writer.returncode == 0, writer.returncode
    # Neither the start nor the end counts.
    middle = [sample for sample in samples if items / 4 <= sample[1] <= 3 * items / 4]
    (first, before), (last, after) = middle[0], middle[-1]
    figures(name, number)
    print(f"    {seconds:.1f} s, {items / seconds:.0f} a second, {(after - before) / (last - first):.0f} in the middle half")


if __name__ == "__main__":
    globals()[sys.argv[1]](*sys.argv[2:])
