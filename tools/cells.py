"""Measurements by cell: what was measured is kept, what is missing is measured next, with time left shown.

    cells = Cells("bench", stamp)
    for name in cells.missing(names):      # prints progress as it goes
        cells.put(name, measure(name))
    results = cells.all(names)             # name -> what was put

A cell is a file out/cells/KIND/NAME.json. `stamp` says what was measured (versions of code, options): a cell
with another stamp is measured anew, so a command that was stopped goes on where it was, and one that was
changed begins again.
"""

import hashlib
import json
import os
import platform
import re
import subprocess
import sys
import time
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
FOLDER = ROOT / "out" / "cells"


class Cells:
    def __init__(self, kind, stamp):
        self.folder = FOLDER / kind
        self.kind = kind
        self.stamp = stamp
        self.folder.mkdir(parents=True, exist_ok=True)

    def get(self, name):
        """What was put under the name with this stamp, or None."""
        try:
            kept = json.loads(self.path(name).read_text())
        except (OSError, ValueError):
            return None
        return kept["result"] if kept.get("stamp") == self.stamp else None

    def put(self, name, result):
        kept = {"name": name, "stamp": self.stamp, "machine": machine(), "commit": commit(), "result": result}
        path = self.path(name)
        whole = path.with_suffix(f".{os.getpid()}")
        whole.write_text(json.dumps(kept))
        # A command that is stopped leaves a whole cell or none.
        whole.replace(path)

    def missing(self, names):
        """The names without a result, one after the other; whoever takes one puts it before the next."""
        names = list(names)
        todo = [name for name in names if self.get(name) is None]
        kept = len(names) - len(todo)
        if kept:
            print(f"{self.kind}: {kept} of {len(names)} cells are measured already", file=sys.stderr)
        start = time.monotonic()
        for done, name in enumerate(todo):
            spent = time.monotonic() - start
            left = f", {minutes(spent / done * (len(todo) - done))} left" if done else ""
            print(f"{self.kind}: {kept + done + 1} of {len(names)}: {name}{left}", file=sys.stderr, flush=True)
            yield name

    def all(self, names):
        results = {name: self.get(name) for name in names}
        return {name: result for name, result in results.items() if result is not None}

    def path(self, name):
        # Names become file names; what two of them lose must not make them one.
        plain = re.sub(r"[^A-Za-z0-9_.-]+", "_", name)
        return self.folder / f"{plain}-{hashlib.sha256(name.encode()).hexdigest()[:8]}.json"


def minutes(seconds):
    return f"{seconds:.0f} s" if seconds < 90 else f"{seconds / 60:.0f} min"


def stamp_of(*paths):
    """A hash of files and of all files in folders, for a stamp."""
    digest = hashlib.sha256()
    for path in paths:
        path = ROOT / path
        files = sorted(p for p in path.rglob("*") if p.is_file()) if path.is_dir() else [path]
        for file in files:
            if "__pycache__" not in file.parts:
                digest.update(str(file.relative_to(ROOT)).encode() + b"\0" + file.read_bytes())
    return digest.hexdigest()[:16]


def machine():
    """What a measurement ran on, as people would say it."""
    try:
        names = re.findall(r"^model name\s*: (.*)$", Path("/proc/cpuinfo").read_text(), re.MULTILINE)
    except OSError:
        names = []
    cpu = names[0].strip() if names else platform.machine()
    return f"{cpu}, {os.cpu_count()} cores, {platform.system()} {platform.release()}"


def commit():
    """The commit that is measured, with a + if files were changed since."""
    say = lambda *git: subprocess.run(["git", *git], cwd=ROOT, capture_output=True, text=True).stdout.strip()
    return say("rev-parse", "--short", "HEAD") + ("+" if say("status", "--porcelain", "-uno") else "")
