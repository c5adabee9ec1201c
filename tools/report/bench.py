"""What was measured on a real Envoy: every way to a provider."""

from collections import defaultdict

from spread import spread

from .html import missing, origin, own, p, plot, ranged, section, table

WAYS = {
    "weir": "Weir", "no-protection": "No protection", "envoy-retry": "Envoy retry", "local-ratelimit": "Local ratelimit",
    "adaptive-concurrency": "Adaptive concurrency", "all-native": "All of Envoy's",
}


def sections(m):
    name, title, command = "bench", "On a real Envoy", "make bench"
    if not m.bench:
        return section(name, title, missing(command))
    runs = by_way(m.bench)
    repetitions = max(len(results) for results in runs.values())
    load = next(iter(m.bench.results.values()))["load"]
    head = ["", "efficiency", "refused, %", "attempts a call", "p50 wait, s", "p95 wait, s"]
    tables = [table([model, *head[1:]], [bench_row(way, results) for (of, way), results in runs.items() if of == model])
              for model in dict.fromkeys(model for model, _ in runs)]
    return section(
        name, title,
        p(f"One Envoy in front of a provider that is modelled, by every way in turn, {repetitions} repetitions; medians, lowest to highest. "
          f"The load: {load}. Envoy's own filters are tuned to the provider; Weir is told nothing."),
        plot("bench", "Efficiency on a real Envoy", "Dots are medians, lines go from the lowest to the highest."),
        plot("bench-refused", "Share of attempts refused, on a real Envoy"),
        *tables, origin(command, m.bench))


def bench_row(way, results):
    totals = [result["totals"] for result in results]
    shown = lambda key, form, by=1: ranged([None if one[key] is None else one[key] * by for one in totals], form)
    return [own(WAYS[way]) if way == "weir" else WAYS.get(way, way), shown("efficiency", ".3f"), shown("refused_share", ".1f", 100),
            shown("attempts_per_call", ".2f"), shown("wait_p50_ms", ".2f", 1e-3), shown("wait_p95_ms", ".2f", 1e-3)]


def by_way(kind):
    """(model, way) -> results, the ways in the order of WAYS."""
    runs = defaultdict(list)
    order = list(WAYS)
    place = lambda result: (result["model"], order.index(result["path"]) if result["path"] in order else len(order))
    for result in sorted(kind.results.values(), key=place):
        runs[result["model"], result["path"]].append(result)
    return runs


def data(m):
    rows = []
    for (model, way), results in by_way(m.bench).items():
        for field in ("efficiency", "refused_share"):
            found = spread([result["totals"][field] for result in results])
            rows.append({"model": model, "way": WAYS.get(way, way), "field": field, "median": found.median,
                         "lowest": found.lowest, "highest": found.highest})
    return rows
