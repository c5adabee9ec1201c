"""Does the simulator do what a real Envoy did? The calls of `make bench`, played in the simulator."""

import re
from collections import defaultdict
from statistics import median

from cells import ROOT, Cells, stamp_of

from .html import heat, missing, origin, p, plot, section, table, text

# The providers of examples/bench, in the simulator's words.
MODELS = "tools/report/same.json"
TRACE = "out/report/peak.csv"
SEEDS = "1..20"
# A way to the provider in `make bench`, and the peer of the simulator that is configured alike.
SAME = {"weir": "weir", "no-protection": "none"}
LOAD = re.compile(r"0 to (\d+) calls a second within (\d+) s, for (\d+) s; each client waits (\d+) s")
WITHIN_POINTS = 5.0


def simulate(simulator, bench):
    """One cell: the load that was measured, through the same peers."""
    loads = {result["load"] for result in bench.results.values()}
    found = [LOAD.fullmatch(load) for load in loads]
    if len(found) != 1 or not found[0]:
        return
    rate, rise, length, patience = map(int, found[0].groups())
    file = ROOT / TRACE
    file.parent.mkdir(parents=True, exist_ok=True)
    file.write_text("".join(f"{at:.6f}\n" for at in arrivals(rate, rise, length)))
    cells = Cells("agreement", [stamp_of("src/core", "tests/support/sim", MODELS), found[0][0], SEEDS])
    for name in cells.missing(["peak"]):
        options = ["--models", MODELS, "--loads", f"trace:{TRACE}", "--seeds", SEEDS,
                   "--peers", ",".join(SAME.values()), "--patience", str(patience)]
        cells.put(name, simulator.printed(options))


def arrivals(rate, rise, length):
    """Seconds: evenly spaced at a rate that rises from 0, then stands."""
    during = rate * rise / 2
    count = int(during + rate * (length - rise))
    return [(2 * rise * n / rate) ** 0.5 if n < during else rise + (n - during) / rate for n in range(count)]


def sections(m):
    name, title = "agreement", "Does the simulator tell the truth?"
    if not m.bench or not m.agreement:
        return section(name, title, missing("make bench"))
    found = compared(m.agreement, m.bench)
    inside = sum(all(gap <= WITHIN_POINTS for gap in apart(*pair)) for pair in found.values())
    head = ["model", "way", "efficiency, %: simulated", "on Envoy", "apart", "refused, %: simulated", "on Envoy", "apart"]
    return section(
        name, title,
        p(f"The calls that the real Envoy got, played in the simulator through the same models; medians. {inside} of "
          f"{len(found)} pairs are within {WITHIN_POINTS:.0f} points in both efficiency and refused share. Envoy's own "
          "filters are tuned otherwise there than here, so they are not compared. A test holds Weir to the "
          f"{WITHIN_POINTS:.0f} points on three models."),
        plot("agreement", "Simulated and measured", "A dot a model and way, in percent; on the line they are the same."),
        table(head, [row(m, model, peer, *pair) for (model, peer), pair in found.items()]),
        origin("make report", m.agreement))


def row(m, model, peer, simulated, measured):
    off = [heat(f"{gap:.1f}", gap / (4 * WITHIN_POINTS)) for gap in apart(simulated, measured)]
    texts = [(f"{a:.1f}", f"{b:.1f}") for a, b in zip(simulated, measured)]
    return [model, text(m.label(peer)), *texts[0], off[0], *texts[1], off[1]]


def apart(simulated, measured):
    return [abs(a - b) for a, b in zip(simulated, measured)]


def data(m):
    return [{"model": model, "way": m.label(peer), "field": field, "simulated": simulated[i], "measured": measured[i]}
            for (model, peer), (simulated, measured) in compared(m.agreement, m.bench).items()
            for i, field in enumerate(["efficiency", "refused"])]


def compared(simulated, bench):
    """By model and way: efficiency and refused share in percent, medians, simulated and measured."""
    ours, theirs = defaultdict(list), defaultdict(list)
    for result in simulated.results.values():
        for line in result["lines"]:
            ours[line["model"], line["peer"]].append(shares(line))
    for result in bench.results.values():
        if result["path"] in SAME:
            theirs[result["model"], SAME[result["path"]]].append(shares(result["totals"]))
    return {key: (middle(ours[key]), middle(theirs[key])) for key in theirs if key in ours}


def shares(counts):
    return counts["efficiency"] * 100, counts["refused"] * 100 / max(counts["attempts"], 1)


def middle(pairs):
    return tuple(median(values) for values in zip(*pairs))
