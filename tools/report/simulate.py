"""The simulator's cells: every model under every load, with all peers and seeds, and timelines of some."""

import json
import os
import subprocess
import sys
import threading
from concurrent.futures import ThreadPoolExecutor

from cells import ROOT, Cells, stamp_of

from . import agreement, peers

MODELS = "examples/sim/models.json"
LOADS = ["peak", "saw", "steps", "diurnal:60:120", "agents:40:12:3"]
SEEDS = "1..20"
# A limit on growth, one on calls at once, and a window whose refusals say when it ends.
TIMELINES = ["recent-rate", "concurrency", "window-10s"]
TIMELINE_LOAD = "peak"
BUCKET_MS = 500
AT_ONCE = 2


class Simulator:
    def __init__(self, seeds):
        self.seeds = seeds
        self.program = ROOT / os.environ.get("CARGO_TARGET_DIR", "target") / "release" / "examples" / "sim"
        self.peers = peers.NAMES
        self.models = [model["name"] for model in json.loads((ROOT / MODELS).read_text())]
        code = stamp_of("src/core", "tests/support/sim", MODELS)
        self.cells = Cells("sim", [code, seeds, self.peers])
        self.timelines = Cells("timeline", [code, BUCKET_MS, self.peers])

    def run(self, bench):
        """`bench`: what was measured on a real Envoy, to be played here too."""
        build()
        tables = {f"{model} {load}": (model, load) for model in self.models for load in LOADS}
        run_missing(self.cells, tables, lambda model, load: self.lines(model, load, self.seeds))
        pictures = {f"{model} {TIMELINE_LOAD}": (model, TIMELINE_LOAD) for model in TIMELINES}
        run_missing(self.timelines, pictures,
                    lambda model, load: self.lines(model, load, "1..1", "--timeline", str(BUCKET_MS)))
        if bench:
            agreement.simulate(self, bench)

    def lines(self, model, load, seeds, *more):
        return self.printed(["--models", MODELS, "--only", model, "--loads", load, "--seeds", seeds,
                             "--peers", ",".join(self.peers), *more])

    def printed(self, options):
        """What the simulator prints, and the command that makes it print that."""
        run = subprocess.run([self.program, *options], cwd=ROOT, capture_output=True, text=True)
        if run.returncode:
            sys.exit(f"report: {run.stderr.strip()}")
        return {"command": "cargo run --release --example sim -- " + " ".join(options),
                "lines": [json.loads(line) for line in run.stdout.splitlines()]}


def build():
    subprocess.run(["cargo", "build", "--quiet", "--release", "--example", "sim"], cwd=ROOT, check=True)


def run_missing(cells, named, measure):
    """Measures some at a time; the next is announced when one of those has ended."""
    free = threading.Semaphore(AT_ONCE)

    def one(name):
        try:
            cells.put(name, measure(*named[name]))
        finally:
            free.release()

    with ThreadPoolExecutor(AT_ONCE) as pool:
        started = []
        for name in cells.missing(named):
            free.acquire()
            started.append(pool.submit(one, name))
        for job in started:
            job.result()
