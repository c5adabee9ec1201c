"""The simulator's part of the page."""

from statistics import mean, median

from . import behind, peers
from .html import details, heat, missing, origin, p, plain, plot, section, table, text

COMMAND = "make report"
# What the shading of a table takes for as bad as can be.
WORST_EFFICIENCY, WORST_REFUSED, WORST_WAIT_S = 0.4, 0.5, 20.0


def sections(measured):
    if not measured.sim:
        return section("simulated", "In the simulator", missing(COMMAND))
    return "".join(part(measured) for part in (overview, over_time, efficiency, refusals, waits, tasks, not_ahead))


def overview(m):
    rows = []
    for peer in m.peers:
        cells = [lines for (_, _, name), lines in m.table.items() if name == peer]
        means = [mean(of(lines, "efficiency")) for lines in cells]
        refused = [mean(of(lines, "refused_share")) for lines in cells]
        waits = [mean(of(lines, "wait_p95_ms")) / 1e3 for lines in cells]
        rows.append([m.label(peer), number(mean(means), 3), number(min(means), 3), percent(mean(refused)),
                     percent(max(refused)), number(median(waits), 1), text(peers.ABOUT.get(peer, ""))])
    runs = sum(len(lines) for lines in m.table.values())
    return section(
        "overview", "All at a glance",
        p(f"{len(m.models)} models of providers, {len(m.loads)} loads, {len(m.peers)} ways to stand between, "
          f"{len(m.seeds)} seeds: {runs:,} runs of the simulator. Efficiency is what was served of what a queue "
          "that knows the provider's limits would serve (the clairvoyant queue). A dot is the mean of all seeds for one "
          "model and load, the bar the mean of the dots."),
        plot("cost", "What is served, and what it costs the provider", "Means over all models, loads and seeds. The best "
             "place is at the top left."),
        plot("efficiency", "Efficiency", "Right is better; 1.0 is the clairvoyant queue."),
        plot("refused", "Share of attempts refused", "Left is better. Attempts after the first refusal came back."),
        plot("wait", "95th percentile of waits", "Of calls that were served: who serves few serves them soon. "
             "Seconds, on a square-root scale."),
        table(["", "efficiency", "worst", "refused", "worst", "p95 wait, s (median)", "what it is"], rows),
        origin(COMMAND, m.sim))


def over_time(m):
    if not m.timelines:
        return section("over-time", "Rate over time", missing(COMMAND))
    names = list(m.timelines.results)
    choices = "".join(
        f'<label><input type="radio" name="timeline" value="{i}"{" checked" if not i else ""}>{name}</label>'
        for i, name in enumerate(names))
    return section(
        "over-time", "Rate over time",
        p("One seed of a model and load, all peers. The grey area is the provider's envelope: what it would have "
          "taken in that half second, after what it had taken before. So the envelope differs from peer to peer: who "
          "provokes refusals, or leaves a limit on growth unused, gets less."),
        f'<fieldset class="choices"><legend>Model and load</legend>{choices}</fieldset>',
        '<ul class="legend"><li class="envelope">envelope</li><li class="offered">calls offered</li>'
        '<li class="accepted">accepted</li><li class="weir">accepted, Weir</li><li class="refused">refused</li></ul>',
        plot("timeline", "Starts a second", "Smoothed over 2 s, as envelopes jump."),
        origin(COMMAND, m.timelines))


def efficiency(m):
    cell = lambda lines, is_own: heat(
        number(mean(of(lines, "efficiency")), 3), (1 - mean(of(lines, "efficiency"))) / (1 - WORST_EFFICIENCY),
        spread(of(lines, "efficiency"), 3), is_own)
    return section(
        "efficiency", "Efficiency by model and peer",
        p("Means over all loads and seeds; the darker, the worse. The tables by load have the spread over seeds in "
          "their tooltips."),
        by_model(m, cell), *by_load(m, cell))


def refusals(m):
    cell = lambda lines, is_own: heat(
        percent(mean(of(lines, "refused_share"))), mean(of(lines, "refused_share")) / WORST_REFUSED,
        spread(of(lines, "refused_share"), 4), is_own)
    return section(
        "refusals", "Refusals", p("Of the attempts that started after the first refusal had come back, the share that "
                                  "the provider refused. Means over all loads and seeds."),
        by_model(m, cell), *by_load(m, cell))


def waits(m):
    def cell(lines, is_own):
        seconds = [value / 1e3 for value in of(lines, "wait_p95_ms")]
        return heat(number(mean(seconds), 1), mean(seconds) / WORST_WAIT_S, spread(seconds, 1), is_own)

    best = lambda lines: plain(number(mean(of(lines, "clairvoyant_p95_ms")) / 1e3, 1))
    return section(
        "waits", "Waits",
        p("95th percentile of the wait from arrival to the start of the accepted attempt, in seconds, of the calls "
          "that were served. Read it with the efficiency: who serves only the first few calls serves them at once."),
        by_model(m, cell, best), *by_load(m, cell, best))


def tasks(m):
    loads = [load for load in m.loads if any("tasks" in line for line in m.table[m.models[0], load, m.peers[0]])]
    if not loads:
        return ""

    def cell(lines, is_own):
        done = [line["tasks"]["done"] / max(line["tasks"]["count"], 1) for line in lines if "tasks" in line]
        return heat(percent(mean(done)), 1 - mean(done), spread(done, 3), is_own)

    return section(
        "tasks", "What agents got done",
        p("Agents that make one call after the other, and give their task up when a call has failed too often: the "
          "share of tasks that were finished."),
        *(by_model(m, cell, loads=[load]) for load in loads))


def not_ahead(m):
    gaps = behind.gaps(m.table)
    certain = [gap for gap in gaps if gap.is_certain]
    pairs = sum(peer != "weir" for _, _, peer in m.table)
    head = ["model", "load", "ahead of Weir", "its efficiency", "Weir's", "gap", "95 % interval", "seeds ahead"]
    return section(
        "not-ahead", "Where Weir is not ahead",
        p(f"Of {pairs:,} comparisons (model, load, peer) a peer's mean efficiency is above Weir's in {len(gaps)}; in "
          f"{len(certain)} of these the difference is larger than chance explains (paired by seed, 95 %). All of "
          "them, the widest first:"),
        table(head, [gap_row(m, gap) for gap in certain]) if certain else "",
        details(f"{len(gaps) - len(certain)} more that may be chance",
                table(head, [gap_row(m, gap) for gap in gaps if not gap.is_certain])) if len(gaps) > len(certain) else "")


def gap_row(m, gap):
    return [gap.model, text(gap.load), text(m.label(gap.peer)), number(gap.theirs, 4), number(gap.ours, 4), f"+{gap.mean:.4f}",
            f"{gap.mean - gap.margin:+.4f} to {gap.mean + gap.margin:+.4f}", f"{gap.ahead} of {len(gap.each)}"]


def by_model(m, cell, best=None, loads=None):
    """A row a model, a column a peer, and the clairvoyant queue's if asked for."""
    loads = loads or m.loads
    rows = []
    for model in m.models:
        own = [[line for load in loads for line in m.table[model, load, peer]] for peer in m.peers]
        row = [cell(lines, peer == "weir") if lines else plain("") for peer, lines in zip(m.peers, own)]
        rows.append([model, *row, *([best(own[0])] if best else [])])
    return table(["model", *map(m.label, m.peers), *(["clairvoyant"] if best else [])], rows)


def by_load(m, cell, best=None):
    return [details(f"Under {load}", by_model(m, cell, best, [load])) for load in m.loads]


def of(lines, field):
    """Waits of nobody are none."""
    return [line[field] or 0.0 for line in lines]


def spread(values, digits):
    return f"{min(values):.{digits}f} to {max(values):.{digits}f} in {len(values)} runs"


def number(value, digits):
    return f"{value:.{digits}f}"


def percent(share):
    return f"{share * 100:.1f} %"
