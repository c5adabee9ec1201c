"""Figures that a command prints: it is run, and what it printed is kept as a cell of kind `counts`."""

import os
import re
import subprocess
import sys

from cells import ROOT, Cells, stamp_of

HOST_CALLS, GATE, BUILD = "make host-calls", "make bench-gate", "make build"


def run():
    """Runs what is missing. A command that cannot run here leaves its figures as they are."""
    cells = Cells("counts", stamp_of("src", "Cargo.lock", "examples/bench_gate"))
    # As in parts.py: flags meant for the outer make would confuse the inner.
    environment = {name: value for name, value in os.environ.items() if name not in ("MAKEFLAGS", "MFLAGS")}
    for command in cells.missing([HOST_CALLS, GATE, BUILD]):
        ended = subprocess.run(command.split(), cwd=ROOT, env=environment, capture_output=True, text=True)
        if ended.returncode:
            print(f"counts: {command} failed, its figures stay as they are: {ended.stderr.strip()[-300:]}", file=sys.stderr)
        else:
            cells.put(command, {"printed": ended.stdout})


def host_calls(printed, name):
    """Of a call that starts at once."""
    return re.search(rf"^{name} +(\d+)", printed, re.MULTILINE)[1]


def gate(printed, what):
    """Instructions with few, with many, and the change."""
    return re.search(rf"^{what} +[\d,]+: +([\d,]+) .*?, +[\d,]+: +([\d,]+), ([+-][\d.]+%)", printed, re.MULTILINE).groups()


def of_host_calls(short, name):
    return (f"host-calls-{short}", f"{name} of a call that starts at once", HOST_CALLS, lambda printed: host_calls(printed, name))


def of_gate(what, sizes):
    shown = lambda i: lambda printed: gate(printed, what)[i].replace("%", " %")
    titles = [f"with {sizes[0]} {what}", f"with {sizes[1]} {what}", f"from {sizes[0]} to {sizes[1]} {what}"]
    return [(f"gate-{what}-{short}", f"instructions of the core a call, {title}", GATE, shown(i))
            for i, (short, title) in enumerate(zip(["few", "many", "change"], titles))]


# Name, what it is, the command, and the value by what it printed.
COUNTED = [
    of_host_calls("reads", "get_shared_data"), of_host_calls("writes", "set_shared_data"),
    of_host_calls("clock", "clock_time_get"), of_host_calls("headers", "get_header_map_pairs"),
    of_host_calls("property", "get_property"), of_host_calls("changes", "change_header"),
    of_host_calls("sets", "set_property"),
    *of_gate("waiters", ("10", "10,000")), *of_gate("keys", ("1", "1,000")),
    ("size", "size of the plugin, KiB", BUILD, lambda printed: re.search(r"bytes, (\d+) KiB", printed)[1]),
]
