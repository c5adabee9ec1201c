"""What many Envoys do to one account."""

from .html import missing, origin, own, p, plain, section, table

COMMAND = "make scale"
HEAD = ["", "Envoys", "efficiency", "refused", "attempts per call", "p95 wait, s"]
LIMITS = {"rate": "1,000 calls/s", "concurrency": "600 calls at one time"}


def sections(m):
    name, title = "scale", "One, a hundred, ten thousand Envoys"
    if not m.scale:
        return section(name, title, missing(COMMAND))
    results = sorted(m.scale.results.values(), key=lambda cell: cell["envoys"])
    first = results[0]
    return section(
        name, title,
        p(f"The same calls ({first['load']}, seeds {first['seeds']}) before the same account, spread over more and more "
          "Envoys of one worker each, in the simulator. Medians. Refused is the share of all attempts. Envoys know "
          "nothing of each other. A local rate limit is an even part of the limit; so is Weir's with share, and the whole "
          "without."),
        *(table(HEAD, rows(results, model), limit) for model, limit in LIMITS.items()),
        origin(COMMAND, m.scale))


def rows(results, model):
    cells = [cell for cell in results if cell["model"] == model]
    peers = dict.fromkeys(cell["peer"] for cell in cells)
    return [row(cell) for peer in sorted(peers, key=lambda peer: (peer.startswith("weir"), peer))
            for cell in cells if cell["peer"] == peer]


def row(cell):
    is_own = cell["peer"].startswith("weir")
    shown = lambda text: plain(text, cell["command"], is_own)
    return [own(cell["peer"]) if is_own else cell["peer"], shown(f"{cell['envoys']:,}"),
            shown(f"{cell['efficiency']:.3f}"), shown(f"{cell['refused_share']:.3f}"),
            shown(f"{cell['attempts_per_call']:.2f}"), shown(f"{cell['wait_p95_ms'] / 1000:.1f}")]
