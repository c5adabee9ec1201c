"""What Weir adds to a call on a real Envoy: CPU and latency, beside other filters, and at scale.

  ENVOY=envoy bench_overhead.py WEIR.wasm NOOP.wasm WRK [ROUNDS [SECONDS]]

Each measurement starts an Envoy, warms it up, loads it, and ends it: its CPU is the time of the process
over the calls it answered, by /proc/PID/stat; latencies are what wrk saw. The provider is another
Envoy, which is not counted. Round by round everything is measured once; what is compared is of the same round.
What is measured is kept in out/cells/overhead: a command that was stopped goes on where it was.
"""

import hashlib
import json
import sys
import tempfile
from pathlib import Path

from cells import Cells, commit, machine, stamp_of
from envoys import Envoy, adaptive_concurrency, envoy_version, local_ratelimit, provider
from overhead_table import conflicts, overhead, scale
from wrk import Failed, Wrk

CONNECTIONS = 8
WARM_UP_S = 1
TRIES = 3
# Calls at the provider while others wait.
CAP_WITH_WAITERS = 4


def policy(**fields):
    return json.dumps({"policies": [{"name": "default", **fields}]})


def by_key():
    return policy(max_concurrent_calls=1000, key=[{"header": "x-key"}])


def waiting(waiters):
    return policy(max_concurrent_calls=CAP_WITH_WAITERS, queue={"max_waiting": 2 * waiters})


# What stands before the provider, by name: Weir's configuration, or another kind of filter.
FILTERS = {
    "no filter": None,
    "no-op wasm": "no-op",
    "Weir, no policy matches": policy(match={"path_prefixes": ["/other"]}),
    "Weir, cap 1,000": policy(max_concurrent_calls=1000),
    "Weir, cap 8 of 8": policy(max_concurrent_calls=CONNECTIONS),
    "Weir, cap 4 of 8": policy(max_concurrent_calls=CONNECTIONS // 2),
    "local + adaptive": "native",
}
WORKERS = [1, 2]
KEYS = [1, 100, 1000]
WAITERS = [10, 100, 1000]


def cell(name, workers):
    return f"{name}, workers: {workers}"


def measurements():
    """By name: what stands before the provider, and how it is loaded."""
    found = {}
    for workers in WORKERS:
        for name, what in FILTERS.items():
            found[cell(name, workers)] = dict(what=what, workers=workers, alone=True)
    for keys in KEYS:
        found[f"{keys} keys"] = dict(what=by_key(), keys=keys)
    for waiters in WAITERS:
        found[f"{waiters} waiters"] = dict(what=waiting(waiters), connections=CAP_WITH_WAITERS + waiters)
    found["4 workers, one key"] = dict(what=policy(max_concurrent_calls=1000), workers=4, connections=32)
    return found


def main(weir, noop, wrk, rounds="5", seconds="3"):
    rounds, todo = range(1, int(rounds) + 1), measurements()
    stamp = [stamp_of("tools/bench_overhead.py", "tools/envoys.py", "tools/wrk.py"), digest(weir), digest(noop), seconds]
    cells = Cells("overhead", stamp)
    wanted = {f"{name}/{n}": one for n in rounds for name, one in todo.items()}
    with tempfile.TemporaryDirectory() as folder, provider(folder) as upstream:
        bench = Bench(folder, upstream, weir, noop, Wrk(wrk, folder), int(seconds))
        for name in cells.missing(wanted):
            cells.put(name, bench.measured(name, wanted[name]))
    results = cells.all(wanted)
    of = lambda name: [results[f"{name}/{n}"] for n in rounds]
    print(f"{machine()}; {envoy_version()}; commit {commit()}; {len(rounds)} rounds of {seconds} s; median (lowest to highest)")
    for workers in WORKERS:
        print("\n" + overhead(f"workers: {workers}", {name: of(cell(name, workers)) for name in FILTERS}))
    for what, counts in ("keys", KEYS), ("waiters", WAITERS):
        print("\n" + scale({f"{count} {what}": of(f"{count} {what}") for count in counts}))
    print("\n" + conflicts(of("4 workers, one key")))


class Bench:
    def __init__(self, folder, upstream, weir, noop, wrk, seconds):
        self.folder, self.upstream, self.weir, self.noop = folder, upstream, weir, noop
        self.wrk, self.seconds = wrk, seconds

    def measured(self, name, how):
        """A machine that is busy for seconds loses a measurement, not the command."""
        for _ in range(TRIES):
            try:
                return self.measure(**how)
            except Failed as failed:
                print(f"overhead: {name}: {failed}", file=sys.stderr)
        sys.exit(f"overhead: {name}: given up")

    def measure(self, what, workers=1, connections=CONNECTIONS, keys=1, alone=False):
        """`alone`: what one connection sees, too, which never meets another call."""
        envoy = Envoy(self.folder, self.upstream, self.wasm(what), native(what), workers)
        try:
            self.wrk.run(envoy.port, connections, WARM_UP_S, keys)
            calls, cpu = envoy.answered(), envoy.cpu_seconds()
            found = self.wrk.run(envoy.port, connections, self.seconds, keys)
            cpu, calls = envoy.cpu_seconds() - cpu, envoy.answered() - calls
            if not calls:
                raise Failed("no call was answered")
            found |= {"calls": calls, "cpu_us": cpu / calls * 1e6, **weirs(envoy)}
            if alone:
                found["alone"] = self.wrk.run(envoy.port, 1, self.seconds, keys)
        finally:
            envoy.end()
        return found

    def wasm(self, what):
        if what is None or what == "native":
            return None
        return (self.noop, "") if what == "no-op" else (self.weir, what)


def native(what):
    """Neither ever refuses: what is measured is what they do for every call."""
    return [local_ratelimit(10**9), adaptive_concurrency(1000)] if what == "native" else []


def weirs(envoy):
    """What Weir counted, the warm-up included."""
    count = lambda name: envoy.stat(f"wasmcustom.weir.{name}")
    return {
        "weir_calls": count("policy.default.calls"),
        "weir_queued": count("policy.default.queued"),
        "weir_conflicts": count("plugin.cas_conflicts"),
    }


def digest(path):
    return hashlib.sha256(Path(path).read_bytes()).hexdigest()[:16]


if __name__ == "__main__":
    main(*sys.argv[1:])
