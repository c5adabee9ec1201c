#!/usr/bin/env python3
"""Draws provider models from a seed: `drawn.py SEED COUNT` prints COUNT of each kind, for the simulator.

The ranges are those over which Weir's learned rate is meant to hold. Nothing in Weir knows them.
"""
import json
import random
import sys


def main():
    if len(sys.argv) != 3:
        sys.exit("usage: drawn.py SEED COUNT")
    draw = random.Random(int(sys.argv[1]))
    models = []
    for number in range(int(sys.argv[2])):
        for kind, make in KINDS.items():
            service = {"mean_ms": draw.choice([300, 600, 1000, 2000]), "max_ms": 8000}
            model = {"name": f"{kind}-{number}", "service": service}
            model["refusal_ms"] = draw.choice([5, 20, 50])
            model.update(make(draw))
            models.append(model)
    json.dump(models, sys.stdout, indent=1)


def tells(draw):
    return draw.choice([[], ["retry_after_s"], ["retry_after_ms"]])


def recent_rate(draw):
    growth = round(draw.uniform(1.1, 1.6), 2)
    return {"kind": "recent_rate", "floor_per_s": draw.choice([2, 3, 4, 6, 10]), "growth": growth,
            "past_ms": draw.choice([1000, 2000, 3000, 5000])}


def step(draw):
    seconds = draw.choice([1, 2, 5])
    return {"kind": "step", "floor": draw.choice([4, 6, 10]) * seconds,
            "step": max(1, int(draw.uniform(2.5, 7) * seconds * seconds)), "window_ms": seconds * 1000,
            "tells": tells(draw)}


def percent(draw):
    window = draw.choice([500, 1000, 2000, 3000])
    return {"kind": "percent", "floor": max(2, draw.choice([4, 8, 12]) * window // 1000),
            "percent": draw.choice([10, 15, 20, 30, 50]) * (1 if window <= 1000 else 2), "window_ms": window,
            "tells": tells(draw)}


def window(least, most, seconds, must_tell=False):
    def make(draw):
        told = draw.choice([["retry_after_s"], ["retry_after_ms"]]) if must_tell else tells(draw)
        return {"kind": "fixed_window", "limit": draw.randint(least, most), "window_ms": seconds * 1000, "tells": told}

    return make


def token_bucket(draw):
    rate = draw.randint(12, 50)
    return {"kind": "token_bucket", "per_second": rate, "burst": draw.choice([1, 5, 10, rate, 2 * rate, 200]),
            "tells": tells(draw)}


def concurrency(draw):
    return {"kind": "concurrency", "limit": draw.randint(8, 40)}


def mix(draw):
    parts = [
        {"kind": "concurrency", "limit": draw.randint(20, 60)},
        {"kind": "recent_rate", "floor_per_s": draw.choice([3, 5, 8]),
         "growth": round(draw.uniform(1.15, 1.5), 2), "past_ms": draw.choice([2000, 3000, 4000])},
        {"kind": "fixed_window", "limit": draw.randint(250, 550), "window_ms": 10000},
        {"kind": "token_bucket", "per_second": draw.randint(15, 50), "burst": draw.choice([5, 20, 50])},
        {"kind": "fixed_window", "limit": draw.randint(25, 50), "window_ms": 1000},
    ]
    return {"kind": "mix", "limits": draw.sample(parts, draw.choice([2, 3])), "tells": tells(draw)}


KINDS = {
    "recent_rate": recent_rate,
    "step": step,
    "percent": percent,
    "window_1s": window(12, 50, 1),
    "window_10s": window(150, 500, 10),
    "window_60s": window(400, 1200, 60, must_tell=True),
    "token_bucket": token_bucket,
    "concurrency": concurrency,
    "mix": mix,
}

if __name__ == "__main__":
    main()
