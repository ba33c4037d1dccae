"""All mutants of `cargo mutants` in one build.

    .ci/mutants                      every mutant that .cargo/mutants.toml names
    .ci/mutants src/engine           those of files whose paths begin so
    .ci/mutants --slowest 10         with tests of up to 10 s of processor time; 1 unless told otherwise

A build for each of three thousand mutants takes days. Here a copy of the sources has all of them as branches, one of which an
environment variable chooses. Each test runs once to note the mutants that it comes by, and then each mutant meets the tests that
come by it, the quick ones first, until one fails. Mutants that do not compile are dropped as the compiler names them.

What is known so far is kept in target/mutants, so that a run that was ended goes on where it was; a change of the sources starts anew.
Needs `cargo install --locked cargo-mutants` and `pip install tree-sitter tree-sitter-rust`.
"""

import argparse
import json
import os
import random
import time
from collections import Counter, defaultdict
from concurrent.futures import ThreadPoolExecutor
from threading import Lock

from mutants import Mutants
from tests import Tests

ROOMS = ["src/targets/classify", "src/engine", "src/backoff"]


def batches(tests):
    """Tests of one program each, of about a second or a single longer one, the quick ones first."""
    begun = {}
    for test in sorted(tests, key=lambda test: test["seconds"]):
        batch = begun.setdefault(test["program"], [])
        batch.append(test)
        if sum(one["seconds"] for one in batch) > 1 or len(batch) == 16:
            yield begun.pop(test["program"])
    yield from begun.values()


def judge(mutants, tests, covered, slowest, only):
    """Each mutant meets the tests that come by it. Returns what became of it, by its number."""
    reach = defaultdict(list)
    for test in covered:
        for number in test["reached"]:
            reach[number].append(test)
    path = mutants.known / "judged.jsonl"
    judged = {}
    if path.is_file():
        for line in path.read_text().splitlines():
            number, most, by = json.loads(line)
            judged[number] = (most, by)
    begins = tuple(only) if only else ("",)
    todo = [
        number
        for number, mutant in enumerate(mutants.all)
        if mutant["file"].startswith(begins)
        and number not in mutants.dropped | mutants.unplaced
        and (number not in judged or (judged[number][1] is None and judged[number][0] < slowest))
    ]
    # At random, so that a run that is ended early is a sample.
    random.Random(20261125).shuffle(todo)
    lock = Lock()

    def one(number):
        before = judged[number][0] if number in judged else -1
        meets = [test for test in reach[number] if before < test["seconds"] <= slowest]
        by = next(filter(None, (tests.fails(number, batch) for batch in batches(meets))), None)
        with lock, path.open("a") as file:
            judged[number] = (slowest, by)
            file.write(json.dumps([number, slowest, by]) + "\n")

    with ThreadPoolExecutor(tests.jobs) as pool:
        list(pool.map(one, todo))
    return {number: by for number, (_, by) in judged.items()}


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("only", nargs="*")
    parser.add_argument("--slowest", type=float, default=1.0)
    parser.add_argument("--jobs", type=int, default=os.cpu_count())
    arguments = parser.parse_args()
    mutants = Mutants()
    print(f"{len(mutants.all)} mutants, {len(mutants.unplaced)} cannot be branches", flush=True)
    tests = Tests(mutants, arguments.jobs)
    programs = mutants.build()
    known = f"covered-{arguments.slowest}"
    covered = mutants.load(known, None)
    if covered is None:
        covered = tests.cover(programs, arguments.slowest)
        mutants.save(known, covered)
    print(f"{len(covered)} tests, {time.strftime('%H:%M:%S')}", flush=True)
    judged = judge(mutants, tests, covered, arguments.slowest, arguments.only)
    missed = sorted(number for number, by in judged.items() if by is None)
    for number in missed:
        print("not noticed:", mutants.all[number]["name"])
    for room in ROOMS:
        of_room = [by for number, by in judged.items() if mutants.all[number]["file"].startswith(room)]
        noticed = sum(by is not None for by in of_room)
        print(f"{room}: {noticed} of {len(of_room)} noticed, {100 * noticed / max(len(of_room), 1):.1f}%")
    print(Counter(by for by in judged.values() if by in ("does not end", "ends the process")))


if __name__ == "__main__":
    main()
