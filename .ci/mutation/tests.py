"""The tests, and which mutants each comes by."""

import math
import os
import re
import resource
import signal
import subprocess
from concurrent.futures import ThreadPoolExecutor


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
        """The test that fails under a mutant. `None` if none does."""
        seconds = sum(test["seconds"] for test in tests)

        def limit():
            os.setpgid(0, 0)
            at_most(5 + 10 * seconds)
            resource.setrlimit(resource.RLIMIT_AS, (6 << 30, 6 << 30))

        child = subprocess.Popen(
            [tests[0]["program"], "--exact", "--test-threads", "1", *(test["name"] for test in tests)],
            cwd=self.mutants.copy, env={**self.environment, "MUTANT": str(number)},
            stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, errors="replace", preexec_fn=limit,
        )
        try:
            said, _ = child.communicate(timeout=15 + 40 * seconds)
        except subprocess.TimeoutExpired:
            os.killpg(child.pid, signal.SIGKILL)
            child.communicate()
            return "does not end"
        if child.returncode == 0:
            return None
        failed = re.search(r"^test (.*) \.\.\. FAILED", said, re.MULTILINE)
        return failed[1] if failed else "does not end" if child.returncode < 0 else "ends the process"
