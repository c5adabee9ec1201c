"""Runs the named make targets one after the other and sums them up in a table.

    parts.py TARGET...

Every part runs, whatever became of those before it; the exit code is 1 if any of them failed.
"""

import os
import subprocess
import sys
import time


def main(parts):
    # Each part is a make of its own: flags meant for the outer one (-j, -k) would confuse it.
    # Variables given on its command line are in the environment already.
    environment = {k: v for k, v in os.environ.items() if k not in ("MAKEFLAGS", "MFLAGS")}
    results = []
    for part in parts:
        print(f"\n== {part}", flush=True)
        start = time.monotonic()
        code = subprocess.run(["make", "--no-print-directory", part], env=environment).returncode
        results.append((part, time.monotonic() - start, code == 0))
    return report(results)


def report(results):
    width = max(len(part) for part, _, _ in results)
    print(f"\n{'part':<{width}}  seconds  result")
    for part, seconds, ok in results:
        print(f"{part:<{width}}  {seconds:7.1f}  {'ok' if ok else 'FAIL'}")
    failed = sum(not ok for _, _, ok in results)
    print(f"\n{len(results) - failed} passed, {failed} failed", flush=True)
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]) if len(sys.argv) > 1 else __doc__)
