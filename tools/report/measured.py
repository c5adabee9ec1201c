"""All that was measured: the cells in a folder, whichever command put them there."""

import json
from collections import defaultdict

from . import peers


class Kind:
    """The cells of one kind: name -> result, and what they were measured on."""

    def __init__(self, folder, kind):
        self.results, self.machines, self.commits = {}, set(), set()
        for path in sorted((folder / kind).glob("*.json")):
            kept = json.loads(path.read_text())
            self.results[kept["name"]] = kept["result"]
            self.machines.add(kept["machine"])
            self.commits.add(kept.get("commit", "unknown"))

    def __bool__(self):
        return bool(self.results)

    @property
    def origin(self):
        """Machine and commit, as people would say it."""
        return " and ".join(sorted(self.machines)), " and ".join(sorted(self.commits))


class Measured:
    def __init__(self, folder):
        self.sim, self.timelines, self.scale, self.bench, self.overhead, self.agreement = (
            Kind(folder, kind) for kind in ("sim", "timeline", "scale", "bench", "overhead", "agreement"))
        self.table = table(self.sim)
        self.peers = ordered(peer for _, _, peer in self.table)
        self.models = ordered(model for model, _, _ in self.table)
        self.loads = ordered(load for _, load, _ in self.table)
        self.seeds = sorted({line["seed"] for lines in self.table.values() for line in lines})

    def label(self, peer):
        return peers.LABELS.get(peer, peer)


def table(sim):
    """(model, load, peer) -> the simulator's lines, by seed."""
    lines = defaultdict(list)
    for result in sim.results.values():
        for line in result["lines"]:
            lines[line["model"], line["load"], line["peer"]].append(line)
    for cell in lines.values():
        cell.sort(key=lambda line: line["seed"])
    return lines


def ordered(names):
    """Each once; all names of one kind are few."""
    return list(dict.fromkeys(names))
