"""Loads what a generator yields into a DynamoDB table, by the program batch-deliver."""

import json
import pathlib
import subprocess
import tempfile


def load(table, items, *options, program="batch-deliver"):
    """Returns the report, and each item that was not delivered with its cause. Further options are those of `batch-deliver load`."""
    with tempfile.TemporaryDirectory() as folder:
        letters, causes = (pathlib.Path(folder, "letters" + end) for end in ("", ".causes.jsonl"))
        command = [program, "load", "--table", table, "--format", "json", "--json", "--dead-letter", str(letters), *options, "-"]
        # The report goes to a file: the program must not wait for this one, which writes.
        with tempfile.TemporaryFile("w+") as events:
            with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=events, text=True, encoding="utf-8") as running:
                try:
                    for item in items:
                        running.stdin.write(json.dumps(item) + "\n")
                    running.stdin.close()
                except BrokenPipeError:
                    pass  # The program has ended, and its exit code says why.
                except BaseException:
                    running.terminate()  # The generator has failed: what was written before is delivered.
                    raise
            # 0: all were delivered. 1: some were not. 2: nothing was started. 130: it was interrupted.
            if running.returncode not in (0, 1):
                raise subprocess.CalledProcessError(running.returncode, command)
            events.seek(0)
            report = json.loads(events.readlines()[-1])["report"]
        lines = [path.read_text("utf-8").splitlines() if path.exists() else [] for path in (letters, causes)]
        undelivered = [(json.loads(item), json.loads(cause)["cause"]) for item, cause in zip(*lines)]
    return report, undelivered


if __name__ == "__main__":
    import sys

    numbers = ({"id": f"order-{number}", "cents": number * 37} for number in range(10_000))
    report, undelivered = load(sys.argv[1], numbers, *sys.argv[2:])
    print(report["delivered"], "delivered")
    for item, cause in undelivered:
        print(item["id"], cause)
