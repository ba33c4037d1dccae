"""All mutants of `cargo mutants` in one build.

    .ci/mutants                      every mutant that .cargo/mutants.toml names
    .ci/mutants src/engine           those of files whose paths begin so
    .ci/mutants --again              only those that earlier runs have met without noticing them
    .ci/mutants --test order         with the unit tests and these of the integration tests
    .ci/mutants --slowest 10         with tests of up to 10 s of processor time; 1 unless told otherwise
    .ci/mutants --budget 1000        with each mutant until its tests took 1,000 s of processor time; 3 unless told otherwise

A build for each of three thousand mutants takes days. Here a copy of the sources has all of them as branches, one of which an
environment variable chooses. Each test runs once to note the mutants that it comes by, and then each mutant meets the tests that
come by it until one fails: first those that noticed other mutants of its function, then the quick ones. Mutants that do not compile
are dropped as the compiler names them.

What is known is kept in target/mutants, so that a run that was ended goes on where it was. As long as its function stays as it is, a
mutant that was noticed counts as such, and one that was not meets only tests with other names.
Needs `cargo install --locked cargo-mutants` and `pip install tree-sitter tree-sitter-rust`.
"""

import argparse
import json
import os
import time
from collections import Counter, defaultdict
from concurrent.futures import ThreadPoolExecutor
from itertools import chain
from threading import Lock

from mutants import PROGRAMS, Mutants
from tests import Tests

ROOMS = ["src/targets/classify", "src/engine", "src/backoff"]


# What the start of a process takes: tests that run together share it.
START = 0.005


def batches(tests, most=0.05):
    """Tests that run in one process, in growing groups, the quick ones first."""
    begun = {}
    for test in sorted(tests, key=lambda test: test["seconds"]):
        batch = begun.setdefault(test["program"], [])
        batch.append(test)
        if sum(one["seconds"] - START for one in batch) > most:
            most = min(2 * most, 1.0)
            yield begun.pop(test["program"])
    yield from begun.values()


class Judgements:
    """What became of each mutant: the test that noticed it, or the tests that did not."""

    def __init__(self, mutants):
        self.mutants = mutants
        self.path = mutants.work / "judged.jsonl"
        self.noticed, self.passed = {}, defaultdict(set)
        self.killers = defaultdict(Counter)
        self.lock = Lock()
        numbers = {mutant["signature"]: number for number, mutant in enumerate(mutants.all)}
        for line in self.path.read_text().splitlines() if self.path.is_file() else []:
            signature, by, passed = json.loads(line)
            number = numbers.get(signature)
            if number is None:
                continue
            if by is not None:
                self.notice(number, by)
            else:
                self.passed[number] |= set(passed)

    def notice(self, number, by):
        self.noticed[number] = by[0]
        self.killers[self.place(number)].update([by[1]])

    def place(self, number):
        mutant = self.mutants.all[number]
        return mutant["file"], mutant["function"] and mutant["function"]["function_name"]

    def in_order(self, number, tests):
        """Groups of tests that run together: first those that noticed others in the same function, then those of the module."""
        names = [name for name, _ in self.killers[self.place(number)].most_common(6)]
        likely = [test for test in tests if test["name"] in names and test["seconds"] < 0.5][:3]
        module = self.mutants.all[number]["file"].removeprefix("src/").removesuffix(".rs").removesuffix("/mod").replace("/", "::")
        of_module = [test for test in tests if test["name"].startswith(module + "::") and test not in likely]
        rest = [test for test in tests if test not in likely and test not in of_module]
        return chain(([test] for test in likely), batches(of_module, 0.5), batches(rest))

    def note(self, number, by, passed):
        with self.lock, self.path.open("a") as file:
            self.passed[number] |= set(passed)
            if by is not None:
                self.notice(number, by)
            file.write(json.dumps([self.mutants.all[number]["signature"], by, passed]) + "\n")


def judge(mutants, tests, covered, arguments):
    """Each mutant meets the tests that come by it. Returns what is known then."""
    reach = defaultdict(list)
    for test in covered:
        for number in test["reached"]:
            reach[number].append(test)
    known = Judgements(mutants)
    begins = tuple(arguments.only) if arguments.only else ("",)
    todo = [
        number
        for number, mutant in enumerate(mutants.all)
        if mutant["file"].startswith(begins)
        and number not in mutants.dropped | mutants.unplaced
        and number not in known.noticed
        and (number in known.passed or not arguments.again)
    ]
    # In an order that says nothing of them, so that a run that is ended early is a random sample.
    todo.sort(key=lambda number: mutants.all[number]["signature"])

    def one(number):
        before = known.passed[number]
        passed, by, spent = [], None, 0.0
        meets = [test for test in reach[number] if test["name"] not in before]
        for batch in known.in_order(number, meets):
            if spent > arguments.budget:
                break
            by = tests.fails(number, batch)
            if by is not None:
                break
            passed += [test["name"] for test in batch]
            spent += sum(test["seconds"] - START for test in batch)
        if by is not None or passed or not before:
            known.note(number, by, passed)

    with ThreadPoolExecutor(arguments.jobs) as pool:
        list(pool.map(one, todo))
    return known


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("only", nargs="*")
    parser.add_argument("--test", nargs="+", default=PROGRAMS)
    parser.add_argument("--slowest", type=float, default=1.0)
    parser.add_argument("--budget", type=float, default=3.0)
    parser.add_argument("--again", action="store_true")
    parser.add_argument("--jobs", type=int, default=os.cpu_count())
    arguments = parser.parse_args()
    mutants = Mutants()
    print(f"{len(mutants.all)} mutants, {len(mutants.unplaced)} cannot be branches", flush=True)
    tests = Tests(mutants, arguments.jobs)
    programs = mutants.build(arguments.test)
    known = "-".join([f"covered-{arguments.slowest}", *arguments.test])
    covered = mutants.load(known, None)
    if covered is None:
        covered = tests.cover(programs, arguments.slowest)
        mutants.save(known, covered)
    print(f"{len(covered)} tests, {time.strftime('%H:%M:%S')}", flush=True)
    known = judge(mutants, tests, covered, arguments)
    report(mutants, known)


def report(mutants, known):
    missed = sorted(number for number in known.passed if number not in known.noticed)
    for number in missed:
        print("not noticed:", mutants.all[number]["name"])
    for room in ROOMS:
        of_room = [number for number in {*known.noticed, *missed} if mutants.all[number]["file"].startswith(room)]
        noticed = sum(number in known.noticed for number in of_room)
        print(f"{room}: {noticed} of {len(of_room)} noticed, {100 * noticed / max(len(of_room), 1):.1f}%")
    print(Counter(by for by in known.noticed.values() if by in ("does not end", "ends the process")))


if __name__ == "__main__":
    main()
