"""Breaks the code on purpose and asks whether a test notices.

    run.py [NAME...]

Every `*.patch` beside this file is a mutant: a small fault in `src`, and the tests that must go
red with it (README.md says how one is written). Those tests are first run on the clean tree,
where they must be green: a test that is always red proves nothing. Exit code 1 if a mutant
survives, does not apply, or does not compile.
"""

import os
import re
import shlex
import subprocess
import sys
import tempfile
import time
from dataclasses import dataclass
from pathlib import Path

HERE = Path(__file__).resolve().parent
ROOT = HERE.parent.parent
WORK = ROOT / "target" / "mutants"
TREE = WORK / "tree"
# A mutant may hang what it breaks; a test that needs longer than this is no proof.
TEST_LIMIT_S = 900
# A test that failed may hang at its end.
END_LIMIT_S = 10
RED = re.compile(r"^test (\S+)(?: - should panic)? \.\.\. FAILED$", re.MULTILINE)
TOLD = re.compile(r"^test result: FAILED", re.MULTILINE)
RAN = re.compile(r"^running ([1-9]\d*) tests?$", re.MULTILINE)


class Broken(Exception):
    """The mutant, or the clean tree, says nothing about the tests."""


@dataclass(frozen=True)
class Tests:
    """A `cargo test` command, and whether it loads the built plugin."""

    arguments: str
    wasm: bool


@dataclass(frozen=True)
class Mutant:
    name: str
    law: str
    tests: Tests
    patch: Path


def main(names):
    mutants = load(names)
    lines, failed = [], False
    copy_tree()
    print("clean tree", flush=True)
    for tests in dict.fromkeys(mutant.tests for mutant in mutants):
        try:
            require_green(tests)
        except Broken as reason:
            sys.exit(f"mutants: on the clean tree, {reason}")
    for mutant in mutants:
        print(f"mutant {mutant.name}", flush=True)
        verdict, ok = judge(mutant)
        lines.append((mutant.name, mutant.law, verdict))
        failed |= not ok
    print_table([("mutant", "law", "test that went red"), *lines])
    return 1 if failed else 0


def judge(mutant):
    """What to print of a mutant, and whether a test caught it."""
    copy_tree()
    try:
        apply(mutant)
        red = run(mutant.tests)
    except Broken as reason:
        return f"BROKEN: {reason}", False
    if not red:
        return "SURVIVED", False
    more = f" (and {len(red) - 1} more)" if len(red) > 1 else ""
    return red[0] + more, True


# ===== the mutants =====


def load(names):
    patches = sorted(HERE.glob("*.patch"))
    unknown = set(names) - {patch.stem for patch in patches}
    if unknown:
        sys.exit(f"mutants: no mutant named {', '.join(sorted(unknown))}")
    if not patches:
        sys.exit("mutants: there are none")
    return [parse(patch) for patch in patches if not names or patch.stem in names]


def parse(patch):
    text = patch.read_text()
    header = dict(re.findall(r"^# (law|test|why|wasm): *(.*?) *$", text, re.MULTILINE))
    for key in ("law", "test", "why"):
        if not header.get(key):
            sys.exit(f"mutants: {patch.name} has no '# {key}:' line")
    if header.get("wasm", "no") not in ("yes", "no"):
        sys.exit(f"mutants: {patch.name}: '# wasm:' is yes or no")
    touched = re.findall(r"^(?:---|\+\+\+) (?:[ab]/)?(\S+)", text, re.MULTILINE)
    outside = [path for path in touched if not path.startswith("src/")]
    if not touched or outside:
        sys.exit(f"mutants: {patch.name} must change files in src/ alone, not {outside}")
    tests = Tests(header["test"], header.get("wasm") == "yes")
    return Mutant(patch.stem, header["law"], tests, patch)


def apply(mutant):
    # The copy lies inside a repository; git must not take it for a folder of that one, where it
    # would skip every path without a word.
    environment = {**os.environ, "GIT_CEILING_DIRECTORIES": str(WORK)}
    command = ["git", "apply", str(mutant.patch)]
    done = subprocess.run(command, cwd=TREE, env=environment, capture_output=True, text=True)
    if done.returncode != 0:
        raise Broken("does not apply: " + (done.stderr.strip().splitlines() or ["?"])[0])


# ===== the copy of the tree =====


def copy_tree():
    """Makes the copy equal to the working tree: tracked and new files, none that git ignores."""
    command = ["git", "ls-files", "-z", "--cached", "--others", "--exclude-standard"]
    listed = subprocess.run(command, cwd=ROOT, check=True, capture_output=True).stdout
    wanted = {Path(os.fsdecode(name)) for name in listed.split(b"\0") if name}
    wanted = {path for path in wanted if (ROOT / path).is_file()}
    for path in wanted:
        update(ROOT / path, TREE / path)
    for path in [path for path in TREE.rglob("*") if path.is_file()]:
        if path.relative_to(TREE) not in wanted:
            path.unlink()


def update(source, target):
    """Writes only what differs, and as a new file: cargo goes by the time of last change, so a
    file put back must look changed too."""
    content = source.read_bytes()
    if target.is_file() and target.read_bytes() == content:
        return
    target.parent.mkdir(parents=True, exist_ok=True)
    target.write_bytes(content)
    target.chmod(source.stat().st_mode)


# ===== the tests =====


def require_green(tests):
    red = run(tests)
    if red:
        raise Broken(f"`cargo test {tests.arguments}` is red: {red[0]}")


def run(tests):
    """The names of the tests that failed in the copy."""
    environment = {**os.environ, "CARGO_TARGET_DIR": str(WORK / "target")}
    # Absent rather than wrong: a test that needs the plugin says `# wasm: yes`.
    environment.pop("WEIR_WASM", None)
    if tests.wasm:
        environment["WEIR_WASM"] = build_wasm(environment)
    command = ["cargo", "test", *shlex.split(tests.arguments)]
    code, output = call(command, environment)
    red = list(dict.fromkeys(RED.findall(output)))
    if "error: could not compile" in output:
        raise Broken("does not compile\n" + output)
    if code != 0 and not red:
        raise Broken(f"`{shlex.join(command)}` failed, and no test by name\n" + output)
    if not RAN.search(output):
        raise Broken(f"`{shlex.join(command)}` ran no test")
    return red


def build_wasm(environment):
    plugin = str(WORK / "weir.wasm")
    command = [str(ROOT / "tools" / "wasm.sh"), "build", plugin]
    code, output = call(command, environment)
    if code != 0:
        raise Broken("the plugin does not build\n" + output)
    return plugin


def call(command, environment):
    """Exit code and output of a command in the copy; it and its children die at the limit."""
    with tempfile.NamedTemporaryFile() as file:
        process = subprocess.Popen(
            command, cwd=TREE, env=environment, stdout=file, stderr=subprocess.STDOUT, start_new_session=True
        )
        output = lambda: Path(file.name).read_text(errors="replace")
        started, told = time.monotonic(), None
        while process.poll() is None:
            time.sleep(0.1)
            now = time.monotonic()
            # A VM that died of a panic holds the lock of the hook for panics, for which the test's process
            # waits at its end.
            if told is None and TOLD.search(output()):
                told = now
            if (told and now - told > END_LIMIT_S) or now - started > TEST_LIMIT_S:
                os.killpg(process.pid, 9)
                process.wait()
                if not told:
                    raise Broken(f"`{shlex.join(command)}` took longer than {TEST_LIMIT_S} s")
        return process.returncode, output()


# ===== the report =====


def print_table(rows):
    # A reason may carry a whole compiler output, which has no place in a table.
    short = [(name, law, verdict.splitlines()[0]) for name, law, verdict in rows]
    for _, _, verdict in rows:
        if "\n" in verdict:
            print(verdict, file=sys.stderr)
    widths = [max(len(row[column]) for row in short) for column in range(3)]
    print()
    for row in short:
        print(" | ".join(cell.ljust(width) for cell, width in zip(row, widths)).rstrip())
    caught = sum(1 for _, _, v in short[1:] if not v.startswith(("BROKEN", "SURVIVED")))
    print(f"\n{caught} caught, {len(short) - 1 - caught} not")


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
