#!/usr/bin/env python3
"""What one, a hundred and ten thousand Envoys do to one account, in the simulator: the same calls, the same limit.

Prints a table; what was measured is kept by cell in out/cells/scale, whose fields docs/simulator.md names.
"""

import json
import os
import subprocess
import sys
from pathlib import Path
from statistics import median

from cells import ROOT, Cells, stamp_of

MODELS = "examples/sim/scale.json"
# A day in a minute: half a minute of it above the limit of about 1,000 calls/s.
LOAD = "diurnal:1500:60"
SEEDS = "1..3"
ENVOYS = [1, 100, 10_000]
LIMITS = {
    "rate": {"rate": {"requests_per_second": 1000, "burst": 1000}},
    "concurrency": {"max_concurrent_calls": 600},
}
# The name of a row, the simulator's peer, and of Weir whether it is told the limit, and how many share it.
ROWS = [
    ("none", "none", False, False),
    ("envoy-retry", "envoy-retry", False, False),
    ("local-ratelimit", "local-ratelimit", False, False),
    ("weir, limit and share", "weir", True, True),
    ("weir, limit, no share", "weir", True, False),
    ("weir, share", "weir", False, True),
    ("weir", "weir", False, False),
]
# It has nothing to be told of a limit on concurrency.
SENSELESS = {("concurrency", "local-ratelimit")}


def main():
    sim = Path(sys.argv[1])
    cells = Cells("scale", f"{stamp_of('src', 'tests/support', 'examples', 'tools/scale.py')} {LOAD} {SEEDS}")
    todo = {
        f"{model} {row[0]} {envoys}": (model, row, envoys)
        for model in LIMITS
        for row in ROWS
        for envoys in ENVOYS
        if (model, row[0]) not in SENSELESS
    }
    for name in cells.missing(todo):
        cells.put(name, measure(sim, *todo[name]))
    print_table(cells.all(todo))


def measure(sim, model, row, envoys):
    name, peer, is_told, shares = row
    config = ROOT / "out" / "scale" / f"{model}-{is_told}-{shares}-{envoys}.json"
    config.parent.mkdir(parents=True, exist_ok=True)
    # Envoys queue what they like: the bound on waiting is none of the account's limits.
    policy = {"name": "sim", "queue": {"max_waiting": 100_000}} | (LIMITS[model] if is_told else {})
    config.write_text(json.dumps({"policies": [policy]} | ({"share": {"of": envoys}} if shares else {})))
    options = ["--models", MODELS, "--only", model, "--loads", LOAD, "--seeds", SEEDS, "--peers", peer]
    options += ["--envoys", str(envoys), "--workers", "1", "--config", str(config.relative_to(ROOT))]
    run = subprocess.Popen([sim, *options], cwd=ROOT, stdout=subprocess.PIPE, text=True)
    lines = [json.loads(line) for line in run.stdout]
    _, status, usage = os.wait4(run.pid, 0)
    if status:
        sys.exit(f"scale: sim {' '.join(options)} failed")
    middle = lambda of: median(of(line) for line in lines)
    return {
        "model": model,
        "peer": name,
        "envoys": envoys,
        "load": LOAD,
        "seeds": SEEDS,
        "command": f"sim {' '.join(options)}",
        "config": config.read_text() if peer == "weir" else None,
        "efficiency": middle(lambda line: line["efficiency"]),
        "refused_share": middle(lambda line: line["refused"] / max(line["attempts"], 1)),
        "attempts_per_call": middle(lambda line: line["attempts"] / line["offered"]),
        "wait_p95_ms": middle(lambda line: line["wait_p95_ms"] or 0.0),
        "clairvoyant_p95_ms": middle(lambda line: line["clairvoyant_p95_ms"] or 0.0),
        "cpu_s": usage.ru_utime + usage.ru_stime,
        "max_mib": usage.ru_maxrss / 1024,
        "lines": lines,
    }


def print_table(cells):
    print(f"{LOAD}, one account, one worker an Envoy, medians of seeds {SEEDS}")
    print(f"{'limit on':12} {'peer':22} {'Envoys':>7} {'efficiency':>10} {'refused':>8} {'attempts':>9} {'p95 wait':>9}"
          f" {'CPU':>7} {'memory':>8}")
    print(f"{'':12} {'':22} {'':>7} {'':>10} {'share':>8} {'per call':>9} {'s':>9} {'s':>7} {'MiB':>8}")
    for cell in cells.values():
        print(f"{cell['model']:12} {cell['peer']:22} {cell['envoys']:7} {cell['efficiency']:10.3f}"
              f" {cell['refused_share']:8.3f} {cell['attempts_per_call']:9.2f} {cell['wait_p95_ms'] / 1000:9.2f}"
              f" {cell['cpu_s']:7.1f} {cell['max_mib']:8.0f}")


if __name__ == "__main__":
    main()
