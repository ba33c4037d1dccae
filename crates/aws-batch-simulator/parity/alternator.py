"""Runs the tests of ScyllaDB's `test/alternator` against the simulator.

Each of them passes on DynamoDB, except those that ask for Scylla or for a bug of DynamoDB, which are left out. What fails here and is not
in `differences_alternator.tsv` is an error, and so is what is listed and passes. The tests are read from a clone, whose licence
allows to run them, and not to copy them.

usage: alternator.py CLONE PROGRAM [PYTEST ARGUMENT...]
"""

import pathlib
import sys
import tempfile

import recordings
from front import Front

# The files about operations that the simulator has.
FILES = [
    "batch",
    "condition_expression",
    "expected",
    "filter_expression",
    "gsi",
    "item",
    "key_condition_expression",
    "key_conditions",
    "limits",
    "nested",
    "number",
    "projection_expression",
    "query",
    "query_filter",
    "returnconsumedcapacity",
    "returnvalues",
    "scan",
    "update_expression",
]

# What the tests import of Scylla's own machinery: nothing of it is needed here.
STAND_INS = {
    "test/__init__.py": "",
    "test/conftest.py": "def dynamic_scope():\n    return 'session'\n",
    "test/cqlpy/__init__.py": "",
    "test/cqlpy/conftest.py": "import pytest\n\n\n@pytest.fixture(scope='session')\ndef host():\n    return 'localhost'\n",
    "test/pylib/__init__.py": "",
    "test/pylib/driver_utils.py": "def safe_driver_shutdown(*_):\n    pass\n",
    "test/pylib/connect_options.py": "def add_host_option(_):\n    pass\n",
    "test/pylib/skip_types.py": "import pytest\n\n\ndef skip_env(reason):\n    pytest.skip(reason)\n\n\n"
    "def skip_bug(*, link, reason):\n    pytest.skip(reason)\n",
    "cassandra/__init__.py": "",
    "cassandra/auth.py": "PlainTextAuthProvider = dict\n",
    "cassandra/policies.py": "RoundRobinPolicy = None\n",
    "cassandra/cluster.py": "EXEC_PROFILE_DEFAULT = ConsistencyLevel = ExecutionProfile = None\n\n\n"
    "class NoHostAvailable(Exception):\n    pass\n\n\n"
    "class Cluster:\n    def __init__(self, *_, **__):\n        raise NoHostAvailable\n",
}

# Tests that say nothing of DynamoDB.
NOT_OF_DYNAMODB = {"scylla_only", "dynamodb_bug", "cql", "rest_api"}


def run(clone, endpoint, arguments):
    """The outcome of each test."""
    tests = pathlib.Path(clone).resolve() / "test/alternator"
    with tempfile.TemporaryDirectory() as folder:
        root = pathlib.Path(folder)
        for name, text in STAND_INS.items():
            (root / name).parent.mkdir(parents=True, exist_ok=True)
            (root / name).write_text(text)
        (root / "test/alternator").symlink_to(tests)
        files = [f"test/alternator/test_{name}.py" for name in FILES if (tests / f"test_{name}.py").exists()]
        environment = {"PYTHONDONTWRITEBYTECODE": "1", "WITHOUT_FIXTURES": ",".join(sorted(NOT_OF_DYNAMODB))}
        options = ["--runxfail", f"--rootdir={root}", f"--url={endpoint}"]
        return recordings.outcomes(root, [*options, *(arguments or files)], environment)


def main(clone, program, *arguments):
    front = Front(program)
    try:
        outcomes = run(clone, front.endpoint, arguments)
    finally:
        front.close()
    return recordings.report(outcomes, "differences_alternator.tsv", is_whole=not arguments)


if __name__ == "__main__":
    if len(sys.argv) < 3:
        sys.exit(__doc__)
    sys.exit(main(*sys.argv[1:]))
