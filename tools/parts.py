"""Runs the named make targets one after the other and sums them up in a table.

    parts.py TARGET...

Every part runs, whatever became of those before it; the exit code is 1 if any of them failed.
A part that cannot run on this machine writes why into the file that PART_SKIPPED names.
"""

import os
import subprocess
import sys
import tempfile
import time
from pathlib import Path


def main(parts):
    # Each part is a make of its own: flags meant for the outer one (-j, -k) would confuse it.
    # Variables given on its command line are in the environment already.
    environment = {k: v for k, v in os.environ.items() if k not in ("MAKEFLAGS", "MFLAGS")}
    with tempfile.TemporaryDirectory() as folder:
        return report([run(part, environment, Path(folder) / part) for part in parts])


def run(part, environment, skipped):
    print(f"\n== {part}", flush=True)
    start = time.monotonic()
    command = ["make", "--no-print-directory", part]
    code = subprocess.run(command, env=environment | {"PART_SKIPPED": str(skipped)}).returncode
    result = "FAIL" if code else f"SKIPPED: {skipped.read_text().strip()}" if skipped.exists() else "ok"
    return part, time.monotonic() - start, result


def report(results):
    width = max(len(part) for part, _, _ in results)
    print(f"\n{'part':<{width}}  seconds  result")
    for part, seconds, result in results:
        print(f"{part:<{width}}  {seconds:7.1f}  {result}")
    failed = sum(result == "FAIL" for _, _, result in results)
    passed = sum(result == "ok" for _, _, result in results)
    skipped = len(results) - passed - failed
    print(f"\n{passed} passed, {failed} failed, {skipped} skipped", flush=True)
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]) if len(sys.argv) > 1 else __doc__)
