"""Whether the emulator of Kinesis keeps what it accepts of calls at the same time, without any of this project in between.

    environment=$(localstack/up) && eval "$environment" && "$AWS_BATCH_DELIVERY_PYTHON" localstack/lost_records.py 16
"""

import sys
from collections import Counter
from concurrent.futures import ThreadPoolExecutor
from uuid import uuid4

import boto3
from botocore.config import Config

RECORDS, IN_A_CALL = 10_000, 100
threads = int(sys.argv[1])
stream = f"records-{uuid4()}"
kinesis = boto3.client("kinesis", config=Config(max_pool_connections=threads, retries={"total_max_attempts": 1}))


def put(first):
    records = [{"Data": str(number), "PartitionKey": str(number)} for number in range(first, first + IN_A_CALL)]
    answer = kinesis.put_records(StreamName=stream, Records=records)
    assert answer["FailedRecordCount"] == 0
    return [record["SequenceNumber"] for record in answer["Records"]]


kinesis.create_stream(StreamName=stream, ShardCount=1)
with ThreadPoolExecutor(threads) as pool:
    numbers = Counter(number for call in pool.map(put, range(0, RECORDS, IN_A_CALL)) for number in call)

(shard,) = kinesis.list_shards(StreamName=stream)["Shards"]
place = {"StreamName": stream, "ShardId": shard["ShardId"], "ShardIteratorType": "TRIM_HORIZON"}
iterator = kinesis.get_shard_iterator(**place)["ShardIterator"]
stored = set()
while (page := kinesis.get_records(ShardIterator=iterator))["Records"]:
    stored.update(record["Data"] for record in page["Records"])
    iterator = page["NextShardIterator"]
kinesis.delete_stream(StreamName=stream)
print(
    f"{threads} calls at the same time: {RECORDS:,} records accepted, {RECORDS - len(stored)} of them missing, "
    f"{RECORDS - len(numbers)} with the sequence number of another"
)
