"""Whether a call costs more when many wait or when there are many keys: instructions, by callgrind.

  tools/bench_gate.py BINARY

Fails if the cost of a call changes by 20 % or more.
"""

import re
import shutil
import subprocess
import sys
import tempfile

COUNTED = {"waiters": ("queued", 10, 10_000), "keys": ("at_once", 1, 1_000)}
LIMIT = 0.2


def main():
    if not shutil.which("valgrind"):
        sys.exit("bench: valgrind is missing: install it")
    over = False
    for what, (function, few, many) in COUNTED.items():
        costs = [measured(sys.argv[1], what, function, size) for size in (few, many)]
        change = costs[1] / costs[0] - 1
        over |= abs(change) >= LIMIT
        print(f"{what:8} {few:>6,}: {costs[0]:>7,.0f} instructions a call, "
              f"{many:>6,}: {costs[1]:>7,.0f}, {change:+.1%} (limit {LIMIT:.0%})")
    sys.exit(1 if over else 0)


def measured(binary, what, function, size):
    with tempfile.TemporaryDirectory() as folder:
        run = subprocess.run(
            ["valgrind", "--tool=callgrind", f"--callgrind-out-file={folder}/out",
             "--collect-atstart=no", f"--toggle-collect=bench_gate::{function}", binary, what, str(size)],
            capture_output=True, text=True)
        if run.returncode:
            sys.exit(f"bench: {run.stderr[-500:]}")
        total = int(re.search(r"^(?:summary|totals): (\d+)", open(f"{folder}/out").read(), re.M)[1])
    return total / int(run.stdout)


main()
