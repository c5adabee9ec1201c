#!/usr/bin/env python3
"""Sums up what the simulator prints: by kind and load, and over all. Reads its lines from stdin."""
import collections
import json
import sys
from statistics import median


def main():
    cells = collections.defaultdict(list)
    for line in sys.stdin:
        cell = json.loads(line)
        cells[(cell["peer"], cell["model"].rsplit("-", 1)[0] if cell["model"][-1].isdigit() else cell["model"],
               cell["load"])].append(cell)
    print(f"{'':34}   efficiency      refused     p95 wait / clairvoyant's")
    print(f"{'':34} median  least median   most  plain  with 0.1 s more")
    peers = collections.defaultdict(list)
    for (peer, model, load), found in sorted(cells.items()):
        row(f"{peer:6} {model:18} {load:8}", found)
        peers[peer] += found
    for peer, found in sorted(peers.items()):
        row(f"{peer:6} all", found)
        below = sum(cell["efficiency"] < 0.92 for cell in found)
        above = sum(cell["refused_share"] > 0.05 for cell in found)
        print(f"{peer:6} {below} of {len(found)} cells below 0.92, {above} with more than 5 % refused")


def row(name, cells):
    efficiency = [cell["efficiency"] for cell in cells]
    refused = [cell["refused_share"] for cell in cells]
    plain = [ratio(cell, 0.0) for cell in cells]
    eased = [ratio(cell, 100.0) for cell in cells]
    print(f"{name:34} {median(efficiency):6.3f} {min(efficiency):6.3f} {median(refused):6.4f} {max(refused):6.4f}"
          f" {median(plain):6.2f} {median(eased):6.2f}")


def ratio(cell, more_ms):
    own, best = cell["wait_p95_ms"] or 0.0, cell["clairvoyant_p95_ms"] or 0.0
    if own + more_ms == best + more_ms:
        return 1.0
    return (own + more_ms) / max(best + more_ms, 1e-3)


if __name__ == "__main__":
    main()
