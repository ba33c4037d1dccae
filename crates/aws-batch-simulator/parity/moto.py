"""Runs those tests of moto that are marked as verified on AWS against the simulator.

`SOURCE` is moto's source package, as the Python registry has it. What fails here and is not in `differences_moto.tsv` is an error, and so is
what is listed and passes. Only DynamoDB's: those of the other services need operations that the simulator does not have.

usage: moto.py SOURCE PROGRAM [PYTEST ARGUMENT...]
"""

import pathlib
import sys
import tarfile
import tempfile

import recordings
from front import Front

# Marks a function as verified.
MARKS = ("dynamodb_aws_verified", "mark.aws_verified")


def run(source, endpoint, arguments):
    """The outcome of each test that is verified."""
    with tempfile.TemporaryDirectory() as folder:
        with tarfile.open(source) as archive:
            archive.extractall(folder, filter="data")
        (root,) = pathlib.Path(folder).iterdir()
        tests = root / "tests/test_dynamodb"
        files = [str(file) for file in sorted(tests.rglob("test_*.py")) if any(mark in file.read_text() for mark in MARKS)]
        environment = {
            "MOTO_TEST_ALLOW_AWS_REQUEST": "true",
            "AWS_ENDPOINT_URL": endpoint,
            "AWS_ACCESS_KEY_ID": "key",
            "AWS_SECRET_ACCESS_KEY": "secret",
            "AWS_DEFAULT_REGION": "us-east-1",
            "AWS_MAX_ATTEMPTS": "1",
        }
        return recordings.outcomes(root, ["-m", "aws_verified", *(arguments or files)], environment)


def main(source, program, *arguments):
    front = Front(program)
    try:
        outcomes = run(source, front.endpoint, arguments)
    finally:
        front.close()
    return recordings.report(outcomes, "differences_moto.tsv", is_whole=not arguments)


if __name__ == "__main__":
    if len(sys.argv) < 3:
        sys.exit(__doc__)
    sys.exit(main(*sys.argv[1:]))
