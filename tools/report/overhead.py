"""What a call costs Envoy."""

import re
from collections import defaultdict

from spread import ratios, spread

from .html import missing, origin, own, p, plot, ranged, section, table

COMMAND = "make bench-overhead"
PLAIN, NOOP = "no filter", "no-op wasm"
FILTERS = [PLAIN, NOOP, "local + adaptive", "Weir, no policy matches", "Weir, cap 1,000", "Weir, cap 8 of 8", "Weir, cap 4 of 8"]
WORKERS = {"1 workers": "1 worker", "2 workers": "2 workers"}


def sections(m):
    name, title = "overhead", "What a call costs Envoy"
    if not m.overhead:
        return section(name, title, missing(COMMAND))
    runs = rounds(m.overhead)
    compared = {f"{what}, {count}" for what in FILTERS for count in WORKERS}
    rest = sorted((one for one in runs if one not in compared), key=in_words)
    at_scale = table(["at scale", "CPU, us", "p50, us", "p99, us"], [scale_row(one, runs[one]) for one in rest])
    return section(
        name, title,
        p("CPU time of Envoy's process over the calls it answered, and what a client sees more. Everything is measured "
          f"once a round, {max(map(len, runs.values()))} in all; medians, lowest to highest; differences and ratios are "
          "of the same round."),
        plot("overhead", "CPU a call", "Microseconds; lines go from the lowest to the highest round."),
        *(overhead_table(runs, count) for count in WORKERS), at_scale if rest else "", origin(COMMAND, m.overhead))


def rounds(kind):
    """Name without round -> round -> result."""
    found = defaultdict(dict)
    for name, result in kind.results.items():
        what, _, number = name.rpartition("/")
        found[what][int(number)] = result
    return found


def in_words(name):
    """100 after 10, waiters after keys."""
    count, what = re.match(r"(\d*)(.*)", name).groups()
    return what, int(count or 0)


def overhead_table(runs, workers):
    names = [what for what in FILTERS if f"{what}, {workers}" in runs]
    if PLAIN not in names:
        return ""
    common = sorted(set.intersection(*(set(runs[f"{what}, {workers}"]) for what in names)))
    of = lambda what, key: [runs[f"{what}, {workers}"][number][key] for number in common]
    more = lambda what, key: [a - b for a, b in zip(of(what, key), of(PLAIN, key))]
    rows = []
    for what in names:
        # Where noise makes the no-op cheaper than nothing, there is no ratio.
        both = [(a, b) for a, b in zip(more(what, "cpu_us"), more(NOOP, "cpu_us")) if b > 0] if NOOP in names else []
        rows.append([
            own(what) if what.startswith("Weir") else what,
            ranged(of(what, "cpu_us"), ".0f"),
            ranged(ratios(of(what, "cpu_us"), of(PLAIN, "cpu_us")), ".2f"),
            ranged([a / b for a, b in both] if what != PLAIN else [], ".1f"),
            ranged(more(what, "p50_us"), ".0f"),
            ranged(more(what, "p99_us"), ".0f"),
        ])
    return table([WORKERS[workers], "CPU, us", "over no filter", "added over the no-op's", "p50 added, us",
                  "p99 added, us"], rows)


def scale_row(name, results):
    return [name, *(ranged([one[key] for one in results.values()], ".0f") for key in ("cpu_us", "p50_us", "p99_us"))]


def data(m):
    runs, rows = rounds(m.overhead), []
    for workers, shown in WORKERS.items():
        for what in FILTERS:
            found = spread([one["cpu_us"] for one in runs.get(f"{what}, {workers}", {}).values()])
            if found:
                rows.append({"filter": what, "workers": shown, "median": found.median,
                             "lowest": found.lowest, "highest": found.highest})
    return rows
