"""The tables of bench_overhead.py. Rounds come in order, the same for all."""

from spread import ratios, spread

PLAIN, NOOP = "no filter", "no-op wasm"
WIDTH = 27


def overhead(title, rounds):
    """`rounds`: by filter, what each round measured."""
    cpu = {name: values(found, "cpu_us") for name, found in rounds.items()}
    noop = differences(cpu[NOOP], cpu[PLAIN])
    alone = {name: [one["alone"] for one in found] for name, found in rounds.items()}
    heads = ["CPU us", "over no filter", "added over no-op's", "queued %",
             "p50 added us", "p99 added us", "alone p50 added us", "alone p99 added us"]
    lines = [row(title, heads)]
    for name, found in rounds.items():
        added = differences(cpu[name], cpu[PLAIN])
        columns = [
            (cpu[name], ".1f"),
            (ratios(cpu[name], cpu[PLAIN]), ".2f"),
            # Where noise makes the no-op cheaper than nothing, there is no ratio.
            (ratios(*kept_where_positive(added, noop)) if name != PLAIN else [], ".2f"),
            (queued(found), ".1f"),
        ]
        for all_rounds in rounds, alone:
            for key in "p50_us", "p99_us":
                columns.append((differences(values(all_rounds[name], key), values(all_rounds[PLAIN], key)), ".0f"))
        lines.append(row(name, [shown(numbers, form) for numbers, form in columns]))
    return "\n".join(lines)


def scale(rounds):
    """The first of the rows is what the others are compared to."""
    first = values(next(iter(rounds.values())), "cpu_us")
    lines = [row("", ["CPU us", "over the first", "queued %", "p50 us", "p99 us"])]
    for name, found in rounds.items():
        cpu = values(found, "cpu_us")
        columns = [(cpu, ".1f"), (ratios(cpu, first), ".2f"), (queued(found), ".1f"),
                   (values(found, "p50_us"), ".0f"), (values(found, "p99_us"), ".0f")]
        lines.append(row(name, [shown(numbers, form) for numbers, form in columns]))
    return "\n".join(lines)


def conflicts(found):
    """Every call has two decisions: its start and its end."""
    calls, lost = sum(values(found, "weir_calls")), sum(values(found, "weir_conflicts"))
    return (f"Four workers, one key: {lost} writes lost to another worker in {2 * calls} decisions, "
            f"{lost / max(2 * calls, 1):.4f} a decision")


def queued(found):
    return [one["weir_queued"] / one["weir_calls"] * 100 for one in found if one["weir_calls"]]


def values(found, key):
    return [one[key] for one in found]


def differences(above, below):
    return [a - b for a, b in zip(above, below, strict=True)]


def kept_where_positive(above, below):
    kept = [(a, b) for a, b in zip(above, below, strict=True) if b > 0]
    return [a for a, _ in kept], [b for _, b in kept]


def shown(numbers, form):
    found = spread(numbers)
    return found.text(form) if found else ""


def row(name, texts):
    return f"{name:<25}" + "".join(f"{text:>{WIDTH}}" for text in texts)
