"""CPU that Weir adds to a call on a real Envoy, against a filter that does nothing.

  ENVOY=envoy bench_cost.py WEIR.wasm NOOP.wasm WRK [ROUNDS [SECONDS]]

Three Envoys of one worker each have the same chain and provider: without a filter, with one that
does nothing at Weir's two places, and with Weir, whose cap is never reached. They are loaded in
turn, round by round. A figure is the CPU time of the Envoy's process, by /proc/PID/stat, over the
calls it answered. The provider is a fourth Envoy, which is not counted.

Then four workers share one key, and what they lose to each other is counted.
"""

import json
import os
import platform
import re
import statistics
import subprocess
import sys
import tempfile

from envoys import Envoy, provider

POLICY = {"policies": [{"name": "default", "max_concurrent_calls": 1000}]}
CONNECTIONS = 8
LOAD = """\
wrk.method = "POST"
wrk.path = "/v1/chat/completions"
wrk.headers["content-type"] = "application/json"
wrk.headers["authorization"] = "Bearer sk-0123456789abcdef0123456789abcdef"
wrk.headers["user-agent"] = "OpenAI/Python 1.99.1"
wrk.headers["accept"] = "application/json"
wrk.body = '{"model":"some-model","messages":[{"role":"user","content":"Say hello."}]}'
"""


def main(weir, noop, wrk, rounds="9", seconds="4"):
    print(machine())
    with tempfile.TemporaryDirectory() as folder:
        load = Load(wrk, folder, int(seconds))
        with provider(folder) as upstream:
            added(folder, upstream, load, weir, noop, int(rounds))
            conflicts(folder, upstream, load, weir)


def added(folder, upstream, load, weir, noop, rounds):
    config = json.dumps(POLICY)
    filters = {"no filter": None, "no-op": (noop, ""), "Weir": (weir, config)}
    envoys = {name: Envoy(folder, upstream, wasm) for name, wasm in filters.items()}
    costs = {name: [] for name in filters}
    try:
        for turn in range(rounds + 1):
            for name, envoy in envoys.items():
                cost = load.cost_of_a_call(envoy)
                # The first round compiles and fills caches.
                if turn:
                    costs[name].append(cost)
        queued = envoys["Weir"].stat("wasmcustom.weir.policy.default.queued")
    finally:
        for envoy in envoys.values():
            envoy.end()
    if queued:
        sys.exit(f"bench-cost: {queued} calls were queued, so this is not the cost of a call that starts at once")
    print(f"\nCPU of Envoy a call, {rounds} rounds of {load.seconds} s each, in turn\n")
    print(f"{'':<24}{'median us':>10}{'lowest':>9}{'highest':>9}")
    for name, all_costs in costs.items():
        row(name, all_costs, ".1f")
    more = {name: [a - b for a, b in zip(costs[name], costs["no filter"])] for name in ("no-op", "Weir")}
    row("added by no-op", more["no-op"], ".1f")
    row("added by Weir", more["Weir"], ".1f")
    row("Weir's over no-op's", [w / n for w, n in zip(more["Weir"], more["no-op"])], ".2f")


def row(name, values, form):
    shown = statistics.median(values), min(values), max(values)
    print(f"{name:<24}{shown[0]:>10{form}}{shown[1]:>9{form}}{shown[2]:>9{form}}")


def conflicts(folder, upstream, load, weir):
    """Every call has two decisions: its start and its end."""
    envoy = Envoy(folder, upstream, (weir, json.dumps(POLICY)), workers=4)
    try:
        load.cost_of_a_call(envoy, 32)
        calls = envoy.stat("wasmcustom.weir.policy.default.calls")
        lost = envoy.stat("wasmcustom.weir.plugin.cas_conflicts")
    finally:
        envoy.end()
    print(f"\nFour workers, one key: {lost} writes lost to another worker in {2 * calls} decisions, "
          f"{lost / (2 * calls):.4f} a decision")


class Load:
    def __init__(self, wrk, folder, seconds):
        self.wrk, self.script, self.seconds = wrk, f"{folder}/load.lua", seconds
        with open(self.script, "w") as file:
            file.write(LOAD)

    def cost_of_a_call(self, envoy, connections=CONNECTIONS):
        """Microseconds of CPU."""
        calls, cpu = envoy.answered(), envoy.cpu_seconds()
        run = subprocess.run(
            [self.wrk, "-t1", f"-c{connections}", f"-d{self.seconds}s", "-s", self.script,
             f"http://127.0.0.1:{envoy.port}"],
            capture_output=True, text=True, check=True)
        cpu, calls = envoy.cpu_seconds() - cpu, envoy.answered() - calls
        failed = re.search(r"Non-2xx.*|Socket errors.*", run.stdout)
        if failed or not calls:
            sys.exit(f"bench-cost: {failed and failed[0] or run.stdout}")
        return cpu / calls * 1e6


def machine():
    model = re.search(r"model name\s*: (.*)", open("/proc/cpuinfo").read())
    version = subprocess.run([os.environ["ENVOY"], "--version"], capture_output=True, text=True).stdout
    version = re.search(r"\d+\.\d+\.\d+", version)
    return (f"{model[1] if model else platform.machine()}, {os.cpu_count()} cores, "
            f"Envoy {version[0] if version else 'of unknown version'}")


if __name__ == "__main__":
    main(*sys.argv[1:])
