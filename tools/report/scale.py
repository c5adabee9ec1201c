"""What one Envoy, a hundred and ten thousand do to one account."""

from . import loads
from .html import heat, missing, origin, own, p, plot, section, table

COMMAND = "make scale"
NAMES = {
    "none": "No protection", "envoy-retry": "Envoy retry", "local-ratelimit": "Local ratelimit",
    "weir, limit and share": "Weir, told limit and share", "weir, limit, no share": "Weir, told the limit alone",
    "weir, share": "Weir, told its share alone", "weir": "Weir, told nothing",
}


def sections(m):
    name, title = "scale", "1, 100 and 10,000 Envoys"
    if not m.scale:
        return section(name, title, missing(COMMAND))
    cells = ordered(m)
    limits = list(dict.fromkeys(cell["model"] for cell in cells))
    one = cells[0]
    return section(
        name, title,
        p(f"In the simulator: so many Envoys, which know nothing of each other, in front of one account; the same calls in "
          f"all rows ({loads.label(one['load'])}; seeds {one['seeds']}, medians). Weir is told the account's limit, of how many Envoys "
          "it is one (share), both or nothing."),
        plot("scale", "Efficiency by number of Envoys", "Right is better."),
        plot("scale-refused", "Share of attempts refused by number of Envoys", "Left is better."),
        *(table([f"limit on {limit}", "Envoys", "efficiency", "refused, %", "attempts a call", "p95 wait, s", "clairvoyant's, s"],
                [row(cell) for cell in cells if cell["model"] == limit]) for limit in limits),
        origin(COMMAND, m.scale))


def ordered(m):
    order = list(NAMES)
    place = lambda cell: (cell["model"], order.index(cell["peer"]) if cell["peer"] in order else len(order), cell["envoys"])
    return sorted(m.scale.results.values(), key=place)


def row(cell):
    name = NAMES.get(cell["peer"], cell["peer"])
    return [own(name) if name.startswith("Weir") else name, f"{cell['envoys']:,}",
            heat(f"{cell['efficiency']:.3f}", (1 - cell["efficiency"]) / 0.6),
            heat(f"{cell['refused_share'] * 100:.1f}", cell["refused_share"] / 0.5),
            f"{cell['attempts_per_call']:.2f}", f"{cell['wait_p95_ms'] / 1e3:.1f}", f"{cell['clairvoyant_p95_ms'] / 1e3:.1f}"]


def data(m):
    return [{"limit": f"limit on {cell['model']}", "way": NAMES.get(cell["peer"], cell["peer"]), "envoys": cell["envoys"],
             "efficiency": cell["efficiency"], "refused": cell["refused_share"]} for cell in ordered(m)]
