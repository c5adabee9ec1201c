#!/usr/bin/env python3
"""Draws examples/sim/trace.csv: a minute of calls in the shape of a public trace, made up from its figures alone.

BurstGPT (Y. Wang et al., "BurstGPT: A Real-World Workload Dataset to Optimize LLM Serving Systems",
arXiv:2401.17644) found that calls to a large provider come in bursts, with gaps that follow a gamma distribution, and
that tokens follow a Zipf distribution. Its generator's defaults are taken: gaps of shape 0.5, which vary 1.4 times as
much as Poisson's, and Zipf's exponent 1.1 for up to 1,024 tokens each way. Only the mean is this file's: 25 calls/s.

    python3 examples/sim/trace.py >examples/sim/trace.csv
"""
import random

SEED = 1
SECONDS = 60.0
RATE = 25.0
SHAPE = 0.5
EXPONENT = 1.1
MOST = 1024


def main():
    chance = random.Random(SEED)
    tokens = range(1, MOST + 1)
    weights = [n**-EXPONENT for n in tokens]
    print(f"# SECONDS,TOKENS: made by examples/sim/trace.py with seed {SEED}")
    at = 0.0
    while (at := at + chance.gammavariate(SHAPE, 1 / (SHAPE * RATE))) < SECONDS:
        prompt, answer = chance.choices(tokens, weights, k=2)
        print(f"{at:.6f},{prompt + answer}")


if __name__ == "__main__":
    main()
