"""boto3's `batch_writer`: one for each worker, in a thread of its own, with a resource of its own."""

import argparse
import json
import sys
from concurrent.futures import ThreadPoolExecutor

import boto3

NOTE = "To be left with the neighbours at number seven, who are at home in the afternoon, or behind the shed."


def parse_arguments():
    parser = argparse.ArgumentParser()
    parser.add_argument("--endpoint", required=True)
    parser.add_argument("--target", required=True)
    parser.add_argument("--entries", type=int, required=True)
    parser.add_argument("--workers", type=int, required=True)
    parser.add_argument("--duplicates", action="store_true")
    parser.add_argument("--overwrite", action="store_true", help="overwrite_by_pkeys: of equal keys in a buffer the last wins")
    return parser.parse_args()


def make_item(number, duplicates):
    repeats = duplicates and number % 100 == 99
    return {
        "id": f"order-{number - 10 if repeats else number:07}",
        "n": number,
        "customer": f"customer-{number % 977}",
        "note": NOTE,
    }


def make_tables(arguments, count):
    """A resource must not be shared by threads. Made one after the other they can share the session."""
    session = boto3.session.Session(
        aws_access_key_id="peers", aws_secret_access_key="peers", region_name="us-east-1"
    )
    resources = [session.resource("dynamodb", endpoint_url=arguments.endpoint) for _ in range(count)]
    return [resource.Table(arguments.target) for resource in resources]


def write(table, items, overwrite):
    """Says whether it failed, and which items were not even handed to the writer by then."""
    untouched = iter(items)
    try:
        with table.batch_writer(overwrite_by_pkeys=["id"] if overwrite else None) as writer:
            for item in untouched:
                writer.put_item(Item=item)
    except Exception:
        return True, [item["n"] for item in untouched]
    return False, []


def tell(line):
    print(line, flush=True)
    sys.stdin.readline()


def main():
    arguments = parse_arguments()
    items = [make_item(number, arguments.duplicates) for number in range(arguments.entries)]
    size = -(-len(items) // arguments.workers)
    parts = [items[start : start + size] for start in range(0, len(items), size)]
    tables = make_tables(arguments, len(parts))
    with ThreadPoolExecutor(arguments.workers) as threads:
        tell("ready")
        results = list(threads.map(write, tables, parts, [arguments.overwrite] * len(parts)))
    tell(
        json.dumps(
            {
                "failed": any(failed for failed, _ in results),
                "handed_back": [number for _, numbers in results for number in numbers],
            }
        )
    )


main()
