"""The figures that follow from cells: name, what it is, the kind of the cells, command, value."""

from statistics import mean, median

from spread import ratios, spread

from . import agreement, behind, bench, overhead, scale

# The loads and models that `make recovery` plays.
RECOVERY_LOADS = ["peak", "saw", "steps"]
RECOVERY = "make recovery"
REPORT = "make report"


def every(m, peer, field, loads=None):
    """The field of every run of a peer."""
    return [line[field] or 0.0 for (_, load, name), lines in m.table.items() for line in lines
            if name == peer and (loads is None or load in loads)]


def recovery(field):
    return lambda m: every(m, "weir", field, RECOVERY_LOADS)


def wait_ratios(m):
    """Weir's 95th percentile of waits over the clairvoyant queue's, at least a microsecond."""
    pairs = zip(recovery("wait_p95_ms")(m), recovery("clairvoyant_p95_ms")(m))
    return [1.0 if own == best else own / max(best, 1e-3) for own, best in pairs]


def percent(value, digits=1):
    return f"{value * 100:.{digits}f} %"


def of_recovery(name, what, value):
    return f"recovery-{name}", f"{what}: the shipped models under {', '.join(RECOVERY_LOADS)}", "sim", RECOVERY, value


def of_peer(peer, label):
    average = lambda field: lambda m: percent(mean(every(m, peer, field)))
    where = "all models, loads and seeds"
    return [(f"sim-{peer}-efficiency", f"{label}: mean efficiency, {where}", "sim", REPORT, average("efficiency")),
            (f"sim-{peer}-refused", f"{label}: mean share of attempts refused, {where}", "sim", REPORT, average("refused_share"))]


def of_bench(model, way):
    def value(field, form, by=1):
        return lambda m: f"{median([one['totals'][field] * by for one in bench.by_way(m.bench)[model, way]]):{form}}"

    what = f"{bench.WAYS[way]} on a real Envoy, model {model}: median"
    name = f"bench-{model}-{way}"
    return [(f"{name}-efficiency", f"{what} efficiency", "bench", bench.COMMAND, value("efficiency", ".3f")),
            (f"{name}-refused", f"{what} share of attempts refused, in %", "bench", bench.COMMAND, value("refused_share", ".1f", 100)),
            (f"{name}-wait", f"{what} of the p95 waits, s", "bench", bench.COMMAND, value("wait_p95_ms", ".1f", 1e-3))]


def of_clairvoyant(model):
    waits = lambda m: [one["possible"]["wait_p95_ms"] / 1e3 for one in bench.by_way(m.bench)[model, "weir"]]
    return (f"bench-{model}-clairvoyant-wait", f"the clairvoyant queue, model {model}: median of the p95 waits, s", "bench",
            bench.COMMAND, lambda m: f"{median(waits(m)):.1f}")


def of_overhead(name, workers):
    """Medians with their spreads."""
    shown = lambda values, form: spread_text(values, form)
    runs = lambda m: overhead.rounds(m.overhead)
    short = name.lower().replace(" ", "-").replace(",", "").replace("+-", "")
    what, key = f"{name}, {workers}", f"overhead-{short}-{workers[0]}"
    values = {
        "": ("CPU of Envoy a call, us", lambda m: shown(overhead.column(runs(m), name, workers, "cpu_us"), ".0f")),
        "-over": ("CPU over no filter's", lambda m: shown(ratios(*overhead.pairs(runs(m), name, workers, "cpu_us")), ".2f")),
        "-noop": ("CPU added over the no-op's", lambda m: shown(overhead.over(runs(m), name, workers), ".1f")),
    }
    return [(key + more, f"{says}, {what}", "overhead", overhead.COMMAND, value) for more, (says, value) in values.items()]


def of_count(count, what, least):
    """Keys or waiters; the ratio is to the least of them in the same round."""
    def over_least(m):
        runs = overhead.rounds(m.overhead)
        many, few = runs[f"{count} {what}"], runs[f"{least} {what}"]
        return spread_text([many[n]["cpu_us"] / few[n]["cpu_us"] for n in many if n in few], ".2f")

    cpu = lambda m: spread_text([one["cpu_us"] for one in overhead.rounds(m.overhead)[f"{count} {what}"].values()], ".0f")
    return [(f"overhead-{what}-{count}", f"CPU of Envoy a call, us, {count} {what}", "overhead", overhead.COMMAND, cpu),
            (f"overhead-{what}-{count}-over", f"the same over that of {least} {what}", "overhead", overhead.COMMAND, over_least)]


def of_scale(limit, peer, envoys):
    cell = lambda m: m.scale.results[f"{limit} {peer} {envoys}"]
    short = peer.replace(", ", "-").replace(" ", "-")
    what = f"limit on {limit}, {scale.NAMES[peer]}, {envoys:,} Envoys"
    fields = {"efficiency": (".3f", 1), "refused_share": (".3f", 1), "attempts_per_call": (".2f", 1), "wait_p95_ms": (".1f", 1e-3)}
    value = lambda field, form, by: lambda m: f"{cell(m)[field] * by:{form}}"
    return [(f"scale-{limit}-{short}-{envoys}-{field.split('_')[0]}", f"{field.replace('_', ' ').replace(' ms', ', s')}, {what}",
             "scale", scale.COMMAND, value(field, form, by)) for field, (form, by) in fields.items()]


def spread_text(values, form):
    found = spread(values)
    if found is None:
        raise LookupError("nothing was measured")
    return found.text(form)


def conflicts(m):
    """Every call has two decisions."""
    found = overhead.rounds(m.overhead)["4 workers, one key"].values()
    return sum(one["weir_conflicts"] for one in found) / max(2 * sum(one["weir_calls"] for one in found), 1)


KNOWN = [
    ("sim-models", "models of providers in the simulator", "sim", REPORT, lambda m: str(len(m.models))),
    ("sim-loads", "loads in the simulator", "sim", REPORT, lambda m: str(len(m.loads))),
    ("sim-peers", "what stands between clients and provider in the simulator, Weir not counted", "sim", REPORT,
     lambda m: str(len(m.peers) - 1)),
    ("sim-seeds", "seeds of each cell", "sim", REPORT, lambda m: str(len(m.seeds))),
    ("sim-runs", "runs of the simulator", "sim", REPORT, lambda m: f"{sum(map(len, m.table.values())):,}"),
    *of_peer("weir", "Weir"), *of_peer("none", "no protection"), *of_peer("sdk", "OpenAI SDK"),
    *of_peer("envoy-retry", "Envoy retry"), *of_peer("envoy-retry-hard", "Envoy retry, hard"),
    *of_peer("leaky-bucket", "leaky bucket, tuned"), *of_peer("gentle-prober", "gentle prober"),
    ("behind-comparisons", "comparisons of a peer with Weir, by model and load", "sim", REPORT,
     lambda m: f"{sum(peer != 'weir' for _, _, peer in m.table):,}"),
    ("behind", "comparisons in which the peer's mean efficiency is above Weir's", "sim", REPORT,
     lambda m: str(len(behind.gaps(m.table)))),
    ("behind-certain", "the same, where it is more than chance explains", "sim", REPORT,
     lambda m: str(sum(gap.is_certain for gap in behind.gaps(m.table)))),
    of_recovery("runs", "runs", lambda m: str(len(recovery("efficiency")(m)))),
    of_recovery("efficiency-median", "median efficiency", lambda m: f"{median(recovery('efficiency')(m)):.3f}"),
    of_recovery("efficiency-below", "runs with efficiency below 0.92",
                lambda m: str(sum(value < 0.92 for value in recovery("efficiency")(m)))),
    of_recovery("efficiency-least", "least efficiency", lambda m: f"{min(recovery('efficiency')(m)):.3f}"),
    of_recovery("refused-median", "median share of attempts refused", lambda m: percent(median(recovery("refused_share")(m)), 2)),
    of_recovery("refused-above", "runs with more than 5 % refused",
                lambda m: str(sum(value > 0.05 for value in recovery("refused_share")(m)))),
    of_recovery("wait-ratio", "median of the ratios of p95 waits to the clairvoyant queue's",
                lambda m: f"{median(wait_ratios(m)):.2f}"),
    *(figure for model in bench.MODELS for way in bench.WAYS for figure in of_bench(model, way)),
    *(of_clairvoyant(model) for model in bench.MODELS),
    ("bench-repetitions", "repetitions on a real Envoy", "bench", bench.COMMAND,
     lambda m: str(max(map(len, bench.by_way(m.bench).values())))),
    *(figure for workers in overhead.WORKERS for name in overhead.FILTERS for figure in of_overhead(name, workers)),
    *(figure for count in (1, 100, 1000) for figure in of_count(count, "keys", 1)),
    *(figure for count in (10, 100, 1000) for figure in of_count(count, "waiters", 10)),
    ("overhead-conflicts", "writes of four workers on one key that were lost to another, a decision", "overhead", overhead.COMMAND,
     lambda m: f"{conflicts(m):.4f}"),
    *(figure for limit in ("rate", "concurrency") for peer in scale.NAMES for envoys in (1, 100, 10_000)
      for figure in of_scale(limit, peer, envoys)),
    ("agreement-inside", "pairs of simulator and real Envoy within 5 points in efficiency and refused share", "agreement", REPORT,
     lambda m: str(sum(all(gap <= agreement.WITHIN_POINTS for gap in agreement.apart(*pair))
                       for pair in agreement.compared(m.agreement, m.bench).values()))),
    ("agreement-pairs", "pairs of simulator and real Envoy", "agreement", REPORT,
     lambda m: str(len(agreement.compared(m.agreement, m.bench)))),
]
