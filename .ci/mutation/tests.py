"""The tests, and which mutants each comes by."""

import math
import os
import re
import resource
import signal
import subprocess
import tempfile
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path


def at_most(seconds):
    """Ends this process after so much processor time."""
    whole = max(1, math.ceil(seconds))
    resource.setrlimit(resource.RLIMIT_CPU, (whole, whole + 1))


class Tests:
    """The tests, and which mutants each comes by."""

    def __init__(self, mutants, jobs):
        self.mutants, self.jobs = mutants, jobs
        # No cases of earlier failures, and no search for smaller ones.
        self.environment = {
            **os.environ,
            "PROPTEST_RNG_SEED": "20261123",
            "PROPTEST_MAX_SHRINK_ITERS": "0",
            "PROPTEST_DISABLE_FAILURE_PERSISTENCE": "1",
        }

    def names(self, program, *more):
        listed = subprocess.run(
            [program, "--list", "--format", "terse", *more], cwd=self.mutants.copy, check=True, capture_output=True, text=True
        )
        return {line.removesuffix(": test") for line in listed.stdout.splitlines() if line.endswith(": test")}

    def cover(self, programs, slowest):
        """Runs each test alone: the mutants that it comes by, and its processor time. Slower ones are left out."""
        todo = [(p, name) for p in programs for name in sorted(self.names(p) - self.names(p, "--ignored"))]

        def one(item):
            number, (program, name) = item
            notes = self.mutants.known / f"notes-{number}"
            notes.unlink(missing_ok=True)
            child = subprocess.Popen(
                [program, "--exact", name], cwd=self.mutants.copy, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL,
                env={**self.environment, "MUTANTS_REACHED": str(notes)}, preexec_fn=lambda: at_most(slowest),
            )
            _, status, usage = os.wait4(child.pid, 0)
            if os.WIFSIGNALED(status):
                print(f"left out, since it takes more than {slowest} s: {name}", flush=True)
                notes.unlink(missing_ok=True)
                return None
            if status != 0:
                raise SystemExit(f"{name} fails without a mutant")
            reached = sorted(set(map(int, notes.read_text().split()))) if notes.is_file() else []
            notes.unlink(missing_ok=True)
            return {"program": program, "name": name, "seconds": usage.ru_utime + usage.ru_stime, "reached": reached}

        with ThreadPoolExecutor(self.jobs) as pool:
            return [covered for covered in pool.map(one, enumerate(todo)) if covered]

    def fails(self, number, tests):
        """What becomes of these tests under a mutant, and the test it becomes of. `None` if none fails."""
        seconds = sum(test["seconds"] for test in tests)

        def limit():
            os.setpgid(0, 0)
            at_most(2 + 8 * seconds)
            resource.setrlimit(resource.RLIMIT_AS, (6 << 30, 6 << 30))

        with tempfile.TemporaryFile("w+", errors="replace") as output:
            child = subprocess.Popen(
                [tests[0]["program"], "--exact", "--test-threads", "1", *(test["name"] for test in tests)],
                cwd=self.mutants.copy, env={**self.environment, "MUTANT": str(number)},
                stdout=output, stderr=subprocess.STDOUT, preexec_fn=limit,
            )
            wait(child)
            if child.returncode == 0:
                return None
            output.seek(0)
            said = output.read()
        failed = re.search(r"^test (\S+)(?: - should panic)? \.\.\. FAILED", said, re.MULTILINE)
        if failed:
            return failed[1], failed[1]
        running = re.findall(r"^test (\S+)(?: - should panic)? \.\.\. ", said, re.MULTILINE)
        ended = child.returncode in (-signal.SIGXCPU, -signal.SIGKILL)
        return "does not end" if ended else "ends the process", running[-1] if running else tests[0]["name"]


def wait(child):
    """Waits for the end of a process, and ends it if it waits for something that never comes."""
    before, idle = None, 0
    while idle < 5:
        try:
            child.wait(timeout=0.5)
            return
        except subprocess.TimeoutExpired:
            now = threads(child.pid)
            waiting = now == before and all(state in "SI" for _, state, _ in now)
            idle, before = idle + 1 if waiting else 0, now
    os.killpg(child.pid, signal.SIGKILL)
    child.wait()


def threads(process):
    """The threads of a process: their state, and the processor time that they took."""
    found = []
    for task in Path(f"/proc/{process}/task").glob("*"):
        try:
            fields = (task / "stat").read_text().rpartition(")")[2].split()
        except (FileNotFoundError, ProcessLookupError):
            continue
        found.append((task.name, fields[0], fields[11:13]))
    return found
