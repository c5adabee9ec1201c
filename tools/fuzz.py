"""Feeds the fuzz targets arbitrary bytes and says how many.

    fuzz.py RUNS [TARGET...]

Builds fuzz/ on stable Rust, with libFuzzer's counters in every function, and runs every target, or
those named, RUNS times. What a target learns is kept in out/fuzz/TARGET and is where the next run
starts; a finding is kept there too, and its command printed. Exit code 1 if there is one.
"""

import os
import re
import shutil
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
FUZZ = ROOT / "fuzz"
OUT = ROOT / "out" / "fuzz"
# Longer than what is kept of any body, so that bounds are crossed.
MAX_LEN = 20_000
# One input may take this long before it counts as a finding.
TIMEOUT_S = 5
# And a target this much memory.
MEMORY_MIB = 512
INSTRUMENTED = [
    "--cfg=fuzzing",
    "-Cpasses=sancov-module",
    "-Cllvm-args=-sanitizer-coverage-level=4",
    "-Cllvm-args=-sanitizer-coverage-inline-8bit-counters",
    "-Cllvm-args=-sanitizer-coverage-pc-table",
    "-Ccodegen-units=1",
]


def main(runs, names):
    known = sorted(path.stem for path in (FUZZ / "targets").glob("*.rs"))
    unknown = set(names) - set(known)
    if unknown:
        sys.exit(f"fuzz: no target {', '.join(sorted(unknown))}; there are {', '.join(known)}")
    if not any(shutil.which(name) for name in (os.environ.get("CXX"), "c++") if name):
        return skip("no C++ compiler, which libFuzzer is built with")
    folder = build()
    with ThreadPoolExecutor(os.cpu_count()) as pool:
        rows = list(pool.map(lambda name: fuzz(folder / name, runs), names or known))
    print(f"\n{'target':<8} {'executions':>11} {'seconds':>8} {'a second':>9} {'inputs kept':>12}  result")
    for name, done, seconds, kept, result in rows:
        print(f"{name:<8} {done:>11,} {seconds:>8,} {done // max(seconds, 1):>9,} {kept:>12,}  {result}")
    return 0 if all(row[-1] == "ok" for row in rows) else 1


def skip(why):
    print(f"fuzz: SKIPPED: {why}")
    if "PART_SKIPPED" in os.environ:
        Path(os.environ["PART_SKIPPED"]).write_text(why)
    return 0


def build():
    """The folder with the built targets."""
    version = subprocess.run(["rustc", "-vV"], check=True, capture_output=True, text=True).stdout
    host = re.search(r"^host: (.*)$", version, re.MULTILINE)[1]
    target = Path(os.environ.get("CARGO_TARGET_DIR") or ROOT / "target").resolve() / "fuzz"
    # A named target keeps the counters out of build scripts, which have nobody to count for.
    command = ["cargo", "build", "--release", "--target", host]
    environment = {
        **os.environ,
        "CARGO_TARGET_DIR": str(target),
        "CARGO_ENCODED_RUSTFLAGS": "\x1f".join(INSTRUMENTED),
    }
    subprocess.run(command, check=True, cwd=FUZZ, env=environment)
    return target / host / "release"


def fuzz(binary, runs):
    """Name, executions, seconds, inputs kept and result of one target."""
    name = binary.name
    learned = OUT / name
    learned.mkdir(parents=True, exist_ok=True)
    words = FUZZ / "words" / f"{name}.txt"
    command = [
        str(binary),
        f"-runs={runs}",
        f"-max_len={MAX_LEN}",
        f"-timeout={TIMEOUT_S}",
        f"-rss_limit_mb={MEMORY_MIB}",
        f"-artifact_prefix={learned}/finding-",
        "-print_final_stats=1",
        *([f"-dict={words}"] if words.exists() else []),
        str(learned),
        str(FUZZ / "corpus" / name),
    ]
    run = subprocess.run(command, stderr=subprocess.PIPE, text=True, errors="replace")
    done = re.search(r"number_of_executed_units: (\d+)", run.stderr)
    seconds = re.search(r"Done \d+ runs in (\d+) second", run.stderr)
    kept = sum(1 for path in learned.iterdir() if not path.name.startswith("finding-"))
    result = "ok"
    if run.returncode != 0 or not done or int(done[1]) < runs:
        result = "FAILED"
        print(run.stderr[-8000:], file=sys.stderr)
        for finding in sorted(learned.glob("finding-*")):
            print(f"again: {binary} {finding}", file=sys.stderr)
    return name, int(done[1]) if done else 0, int(seconds[1]) if seconds else 0, kept, result


if __name__ == "__main__":
    if len(sys.argv) < 2 or not sys.argv[1].isdigit():
        sys.exit(__doc__)
    sys.exit(main(int(sys.argv[1]), sys.argv[2:]))
