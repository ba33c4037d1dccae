"""Compares the outcomes of tests that were recorded on AWS with the list of those that are known to fail.

As a plugin of pytest (`-p recordings`) it writes the outcome of each test to the file that `RECORDED_OUTCOMES` names, and leaves out tests
with one of the fixtures in `WITHOUT_FIXTURES`.
"""

import collections
import json
import os
import pathlib
import subprocess
import sys

OUTCOMES = {}


def pytest_collection_modifyitems(config, items):
    unwanted = set(filter(None, os.environ.get("WITHOUT_FIXTURES", "").split(",")))
    left_out = [item for item in items if unwanted & set(getattr(item, "fixturenames", ()))]
    if left_out:
        config.hook.pytest_deselected(items=left_out)
        items[:] = [item for item in items if item not in left_out]


def pytest_runtest_logreport(report):
    name = report.nodeid.rpartition("/")[2]
    if report.failed:
        OUTCOMES[name] = "failed"
    elif report.skipped:
        OUTCOMES.setdefault(name, "skipped")
    elif report.when == "call":
        OUTCOMES.setdefault(name, "passed")


def pytest_sessionfinish():
    if "RECORDED_OUTCOMES" in os.environ:
        pathlib.Path(os.environ["RECORDED_OUTCOMES"]).write_text(json.dumps(OUTCOMES))


def outcomes(root, arguments, environment):
    """The outcome of each test that pytest runs in this folder, with these arguments and variables."""
    written = pathlib.Path(root) / "outcomes.json"
    here = pathlib.Path(__file__).resolve().parent
    command = [sys.executable, "-m", "pytest", "-q", "-p", "recordings", "-p", "no:cacheprovider", "--tb=short", *arguments]
    paths = [str(root), str(here), os.environ.get("PYTHONPATH", "")]
    variables = {"PYTHONPATH": os.pathsep.join(filter(None, paths)), "RECORDED_OUTCOMES": str(written), **environment}
    subprocess.run(command, cwd=root, env={**os.environ, **variables}, check=False)
    return json.loads(written.read_text())


def known(list_of_differences):
    """The tests that are known to fail, with the reason of each."""
    path = pathlib.Path(__file__).parent / list_of_differences
    lines = [line for line in path.read_text().splitlines() if line]
    return dict(line.split("\t") for line in lines)


def report(outcomes, list_of_differences, is_whole=True):
    """Prints what differs from the list. 1 if anything does, otherwise 0."""
    reasons = known(list_of_differences)
    failed = {name for name, outcome in outcomes.items() if outcome == "failed"}
    new = sorted(failed - reasons.keys())
    gone = sorted(name for name in reasons if is_whole and outcomes.get(name) != "failed")
    for name in new:
        print(f"differs, and is not in {list_of_differences}: {name}")
    for name in gone:
        print(f"is in {list_of_differences}, and does not fail: {name} ({outcomes.get(name, 'not run')})")
    files = collections.defaultdict(collections.Counter)
    for name, outcome in outcomes.items():
        files[name.partition("::")[0]][outcome] += 1
    for file, counts in sorted(files.items()):
        print(f"{file}: {counts['passed']} passed, {counts['failed']} failed, {counts['skipped']} skipped")
    counts = collections.Counter(outcomes.values())
    print(f"{counts['passed']} equal, {len(failed) - len(new)} different with a reason, {len(new)} without")
    return 1 if new or gone or not outcomes else 0
