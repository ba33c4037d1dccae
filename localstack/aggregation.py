"""Takes Kinesis records apart, or puts user records into some, with AWS's library alone: JSON in, JSON out, data in hexadecimal.

    python aggregation.py read <records.jsonl
    python aggregation.py write <user_records.jsonl
"""

import base64
import json
import sys

from aws_kinesis_agg.aggregator import RecordAggregator
from aws_kinesis_agg.deaggregator import iter_deaggregate_records


def read(record):
    stored = {
        "Data": bytes.fromhex(record["data"]),
        "PartitionKey": record["key"],
        "SequenceNumber": "0",
        "ApproximateArrivalTimestamp": 0,
    }
    for user in iter_deaggregate_records([stored], data_format="Boto3"):
        user = user["kinesis"]
        is_alone = not user.get("aggregated")
        # The library encodes what it has taken apart.
        data = user["data"] if is_alone else base64.b64decode(user["data"])
        explicit = None if is_alone else user["explicitHashKey"]
        yield {"key": user["partitionKey"], "hash_key": explicit, "data": data.hex(), "is_alone": is_alone}


def write(users):
    aggregator = RecordAggregator(max_size=25_000)
    full = (aggregator.add_user_record(user["key"], bytes.fromhex(user["data"]), user["hash_key"]) for user in users)
    for aggregate in [*filter(None, full), aggregator.clear_and_get()]:
        key, hash_key, data = aggregate.get_contents()
        yield {"key": str(key), "hash_key": hash_key, "data": data.hex()}


lines = [json.loads(line) for line in sys.stdin]
results = write(lines) if sys.argv[1] == "write" else (user for record in lines for user in read(record))
for result in results:
    print(json.dumps(result))
