"""Weir, Envoy's own means and no protection, on a real Envoy against models of providers.

  bench_paths.py BENCH       (the example of that name, built)

REPS=3 repetitions; ONLY=slope,weir takes some of the models and paths, by name. Round by round, every
path to every model is measured once, one Envoy at a time. What is measured is kept in out/cells/bench:
a command that was stopped goes on where it was.
"""

import json
import os
import subprocess
import sys

from cells import Cells, commit, machine, stamp_of
from envoys import envoy_version
from spread import spread

COLUMNS = [
    # What is shown, where it is, how, and what it is multiplied by.
    ("efficiency", "efficiency", ".3f", 1),
    ("refused %", "refused_share", ".1f", 100),
    ("attempts a call", "attempts_per_call", ".2f", 1),
    ("wait p50 s", "wait_p50_ms", ".2f", 0.001),
    ("wait p95 s", "wait_p95_ms", ".2f", 0.001),
]
SERVES_AS_MUCH = 0.02
# What is measured with: a change of any of it measures anew.
MEASURED = ["src", "Cargo.lock", "examples/bench", "examples/demo/app", "examples/mock_provider/provider"]


def main(program):
    names = json.loads(run(program, "--list"))
    only = [name for name in os.environ.get("ONLY", "").split(",") if name]
    repetitions = int(os.environ.get("REPS") or 3)
    models, paths = chosen(names["models"], only), chosen([path["id"] for path in names["paths"]], only)
    unknown = set(only) - set(models) - set(paths)
    if unknown:
        sys.exit(f"bench: no model or path is called {', '.join(sorted(unknown))}")
    wanted = [cell(model, path, n) for n in range(1, repetitions + 1) for model in models for path in paths]
    cells = Cells("bench", stamp_of(*MEASURED))
    for name in cells.missing(wanted):
        cells.put(name, json.loads(run(program, *name.split("/"))))
    results = cells.all(wanted)
    titles = {path["id"]: path["title"] for path in names["paths"]}
    print(f"{machine()}; {envoy_version()}; commit {commit()}; {repetitions} repetitions, "
          f"median (lowest to highest)\n{next(iter(results.values()))['load']}")
    for model in models:
        rows = {path: [results[cell(model, path, n)]["totals"] for n in range(1, repetitions + 1)] for path in paths}
        rows = {titles[path]: totals for path, totals in rows.items()}
        print("\n".join(["", table(model, rows), *behind(titles["weir"], rows)]))


def chosen(all_names, only):
    """Those of the names that are asked for; all, if none is."""
    return [name for name in all_names if name in only] or all_names


def cell(model, path, repetition):
    return f"{model}/{path}/{repetition}"


def table(title, rows):
    """`rows`: by name, the totals of each repetition."""
    lines = [f"{title:<22}" + "".join(f"{head:>24}" for head, *_ in COLUMNS)]
    for name, totals in rows.items():
        shown = (spread([scaled(one[key], by) for one in totals]) for _, key, _, by in COLUMNS)
        texts = [found.text(form) if found else "none" for found, (*_, form, _) in zip(shown, COLUMNS)]
        lines.append(f"{name:<22}" + "".join(f"{text:>24}" for text in texts))
    return "\n".join(lines)


def scaled(value, by):
    return None if value is None else value * by


def behind(weir, rows):
    """Sentences that name what is better than Weir, by the medians. Waits and refusals are compared with
    those alone that serve about as much: who refuses calls lets the others wait less."""
    if weir not in rows:
        return []
    median = lambda totals, key: spread([one[key] for one in totals])
    sentences = []
    for name, totals in rows.items():
        served, ours = median(totals, "efficiency").median, median(rows[weir], "efficiency").median
        for label, key, form, by in COLUMNS:
            theirs, own = median(totals, key), median(rows[weir], key)
            if theirs is None or own is None:
                continue
            better = theirs.median > own.median if key == "efficiency" else theirs.median < own.median
            if better and served > ours - SERVES_AS_MUCH:
                sentences.append(f"{name} is ahead of Weir in {label}: "
                                 f"{theirs.median * by:{form}}, Weir {own.median * by:{form}}")
    return sentences


def run(*command):
    ended = subprocess.run(command, stdout=subprocess.PIPE, text=True)
    if ended.returncode:
        sys.exit(f"bench: {' '.join(command)} failed")
    return ended.stdout


if __name__ == "__main__":
    main(*sys.argv[1:])
