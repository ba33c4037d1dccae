"""Runs the suite `paritysuite/dynamodb-conformance` against the simulator, and compares what fails with the list of what is known.

    compare.py SUITE SERVE

SUITE is a checkout of the suite whose dependencies are installed, SERVE the program `parity` of this folder. The suite's tests were
verified on DynamoDB itself. Fails if a test fails that `differences.tsv` does not name, or if one that it names passes.
"""

import collections
import json
import os
import subprocess
import sys
import tempfile
from pathlib import Path

from front import Front

HERE = Path(__file__).resolve().parent
# What these tests are about is not in the simulator: operations, and parameters of before the expressions. Where the front of this
# folder answers, the suite would test the front.
ABSENT = {
    "tests/tier1/createTable/": "CreateTable",
    "tests/tier1/deleteTable/": "DeleteTable",
    "tests/tier1/listTables/": "ListTables",
    "tests/tier1/putItem/itemCollectionMetrics": "local indexes",
    "tests/tier1/query/gsi": "reads of an index",
    "tests/tier1/query/lsi": "reads of an index",
    "tests/tier1/query/select": "reads of an index",
    "tests/tier1/scan/filterExpressionParens": "reads of an index",
    "tests/tier1/scan/gsi": "reads of an index",
    "tests/tier1/scan/lsi": "reads of an index",
    "tests/tier1/updateTable/": "UpdateTable",
    "tests/tier2/partiql/": "PartiQL",
    "tests/tier2/streams/": "streams",
    "tests/tier2/tags/": "tags",
    "tests/tier2/transactions/transactGet": "TransactGetItems",
    "tests/tier2/ttl/": "time to live",
    "tests/tier2/updateTable/": "UpdateTable",
    "tests/tier3/error-messages/createTable": "CreateTable",
    "tests/tier3/error-messages/transactGetItems": "TransactGetItems",
    "tests/tier3/legacy-api/": "parameters of before the expressions",
    "tests/tier3/validation-ordering/createTable": "CreateTable",
}


def run(suite, endpoint):
    """The report of the suite. It lies beside the program, not in the system's temporary folder."""
    with tempfile.TemporaryDirectory(dir=Path(sys.argv[2]).resolve().parent) as folder:
        report = Path(folder, "report.json")
        command = ["npx", "--no-install", "vitest", "run", "--reporter=json", f"--outputFile={report}"]
        credentials = {"AWS_ACCESS_KEY_ID": "none", "AWS_SECRET_ACCESS_KEY": "none", "AWS_REGION": "us-east-1"}
        environment = {**os.environ, **credentials, "DYNAMODB_ENDPOINT": endpoint}
        # Its status says whether all tests pass, which the report says too.
        subprocess.run(
            command, cwd=suite, env=environment, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, check=False
        )
        return json.loads(report.read_text())


def main():
    suite = Path(sys.argv[1]).resolve()
    front = Front(sys.argv[2])
    try:
        report = run(suite, front.endpoint)
    finally:
        front.close()
    known = dict(line.split("\t", 1) for line in (HERE / "differences.tsv").read_text().splitlines() if line)
    counts, absent, failed = collections.Counter(), collections.Counter(), {}
    for file in report["testResults"]:
        path = Path(file["name"]).resolve().relative_to(suite).as_posix()
        missing = next((what for start, what in ABSENT.items() if path.startswith(start)), None)
        if missing is None and not file["assertionResults"]:
            counts["failed"] += 1
            failed[path] = file.get("message", "it could not be read")
        for test in file["assertionResults"]:
            problem = "\n".join(test["failureMessages"]) or file.get("message", "")
            if missing is None and test["status"] != "passed" and "UnknownOperation" in problem:
                missing_here = "other operations"
            else:
                missing_here = missing
            if missing_here is not None:
                absent[missing_here] += 1
            elif test["status"] == "passed":
                counts["passed"] += 1
            else:
                counts["failed"] += 1
                failed[f"{path} > {test['fullName']}"] = problem
    print(f"{counts['passed']} passed, {counts['failed']} failed, {sum(absent.values())} of what the simulator does not have:")
    for what, count in sorted(absent.items()):
        print(f"  {count:4} {what}")
    for name in sorted(failed.keys() - known.keys()):
        print(f"\nnot listed: {name}\n  {failed[name].splitlines()[0] if failed[name] else 'no message'}")
    for name in sorted(known.keys() - failed.keys()):
        print(f"\nlisted, but gone: {name}")
    return 0 if failed.keys() == known.keys() and counts["passed"] else 1


if __name__ == "__main__":
    sys.exit(main())
