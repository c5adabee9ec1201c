"""What a verdict costs: instructions of classify(), counted by callgrind, the dearest cases first.

  tools/bench.py BINARY

Fails if the dearest answer of tests/data of at most 2 KiB costs more than 300,000 instructions, or
one whose message was grown until the body has 16 KiB more than ten times that. Grown to 2 KiB they
are shown without a limit: no provider is known to send messages that long.
"""

import glob
import re
import shutil
import subprocess
import sys
import tempfile

CASES = ["tests/data/responses.jsonl", "tests/data/responses_more.jsonl"]
LIMITS = [(0, 300_000), (2048, None), (16384, 3_000_000)]
SHOWN = 3


def main():
    if not shutil.which("valgrind"):
        sys.exit("bench: valgrind is missing: install it")
    over = False
    for size, limit in LIMITS:
        costs = sorted(measured(sys.argv[1], size), reverse=True)
        name = f"{size // 1024} KiB" if size else "as sent"
        for cost, case, length in costs[:SHOWN]:
            print(f"{name:8} {cost:>9,} instructions  {case} ({length} bytes)")
        total = sum(cost for cost, _, _ in costs)
        bound = f"limit {limit:,}" if limit else "no limit"
        print(f"{name:8} {total // len(costs):>9,} on average of {len(costs)}, {bound}")
        over |= bool(limit) and costs[0][0] > limit
    sys.exit(1 if over else 0)


def measured(binary, size):
    with tempfile.TemporaryDirectory() as folder:
        run = subprocess.run(
            ["valgrind", "--tool=callgrind", f"--callgrind-out-file={folder}/out",
             "--collect-atstart=no", "--toggle-collect=bench_classify::counted",
             "--dump-before=bench_classify::counted", binary, str(size), *CASES],
            capture_output=True, text=True, check=True)
        cases = [line.split() for line in run.stdout.splitlines()]
        # The first is empty, each further one holds the call before it, the one without a number
        # the last call.
        dumps = glob.glob(f"{folder}/out.*")
        dumps.sort(key=lambda path: int(path.rsplit(".", 1)[1]))
        dumps = dumps[1:] + [f"{folder}/out"]
        costs = [int(re.search(r"^(?:summary|totals): (\d+)", open(dump).read(), re.M)[1])
                 for dump in dumps]
    if len(costs) != len(cases):
        sys.exit(f"bench: {len(cases)} cases, {len(costs)} counts")
    return [(cost, case, length) for cost, (case, length) in zip(costs, cases)]


main()
