"""The figures of README and docs: what is measured stands in docs/figures.json, and marked in the text.

A mark is invisible to readers: <!--fig NAME-->1.53<!--/-->. `write` takes new values from the cells and puts
them into file and texts; `wrong` says where text and file differ, and which numbers between <!--measured-->
and <!--/measured--> have no mark.
"""

import json
import re
from statistics import StatisticsError

from cells import ROOT

from .counted import COUNTED
from .html import p, section, table, text
from .known import KNOWN

FILE = ROOT / "docs" / "figures.json"
MARK = re.compile(r"<!--fig ([\w.-]+)-->(.*?)<!--/-->", re.DOTALL)
MEASURED = re.compile(r"<!--measured-->(.*?)<!--/measured-->", re.DOTALL)
# What a number may stand in without being a figure: code, links, comments.
APART = re.compile(r"```.*?```|`[^`]*`|\]\([^)]*\)|<!--.*?-->", re.DOTALL)
NUMBER = re.compile(r"(?<![\w.])[+-]?\d[\d,.]*")


def texts():
    return [ROOT / "README.md", *sorted((ROOT / "docs").glob("*.md"))]


def kept():
    return json.loads(FILE.read_text()) if FILE.exists() else {}


def write(measured):
    """Names of those that changed. What is not measured here keeps its value."""
    old, names = kept(), used()
    new = dict(measure(measured, names))
    figures = {name: new.get(name) or old.get(name) for name in sorted(names)}
    figures = {name: figure for name, figure in figures.items() if figure}
    FILE.write_text(json.dumps(figures, indent=1, ensure_ascii=False) + "\n")
    for path in texts():
        before = path.read_text()
        after = MARK.sub(lambda mark: marked(mark, figures), before)
        if after != before:
            path.write_text(after)
    return [name for name, figure in figures.items() if old.get(name, {}).get("value") != figure["value"]]


def used():
    """By name of a figure, where it stands."""
    found = {}
    for path in texts():
        for mark in MARK.finditer(path.read_text()):
            found.setdefault(mark[1], set()).add(str(path.relative_to(ROOT)))
    return found


def measure(measured, names):
    """Of those of the names whose cells are there."""
    for name, what, kind, command, value in KNOWN:
        cells = getattr(measured, kind)
        if name in names and cells:
            seeds = measured.seeds if kind == "sim" else []
            try:
                yield name, figure(value(measured), what, command, cells, seeds)
            except (LookupError, StatisticsError):
                # Not all cells of the kind were measured.
                continue
    for name, what, command, value in COUNTED:
        found = measured.counts.results.get(command)
        if name in names and found:
            yield name, figure(value(found["printed"]), what, command, measured.counts)


def figure(value, what, command, cells, seeds=()):
    machine, commit = cells.origin
    return {"value": value, "what": what, "command": command, "machine": machine, "commit": commit,
            "seeds": f"{seeds[0]} to {seeds[-1]}" if seeds else ""}


def marked(mark, figures):
    """A figure that was never measured stays as it is, and is wrong."""
    value = figures.get(mark[1], {"value": mark[2]})["value"]
    return f"<!--fig {mark[1]}-->{value}<!--/-->"


def wrong():
    """Sentences about marks that do not say what the file says, and about numbers without a mark."""
    figures, found = kept(), []
    for path in texts():
        content, name = path.read_text(), path.relative_to(ROOT)
        for mark in MARK.finditer(content):
            known = figures.get(mark[1])
            if not known:
                found.append(f"{name}: {mark[1]} was never measured, or is no figure's name")
            elif known["value"] != mark[2]:
                found.append(f"{name}: {mark[1]} is {mark[2]}, measured {known['value']}")
        found += [f"{name}: a line begins with the mark of {mark[1]}, which ends the paragraph in Markdown"
                  for mark in re.finditer(r"^ {0,3}<!--fig ([\w.-]+)-->", content, re.MULTILINE)]
        for part in MEASURED.findall(content):
            plain = APART.sub("", MARK.sub("", part))
            found += [f"{name}: {number} has no mark" for number in NUMBER.findall(plain)]
    return found


def sections(_):
    places = used()
    rows = [[found["value"], text(found["what"]), text(", ".join(sorted(places.get(name, [])))), text(found["command"]),
             found["seeds"], text(found["machine"]), found["commit"]] for name, found in kept().items()]
    return section(
        "figures", "Every figure in README and docs",
        p("Where each measured number comes from. A test fails when a text and this table differ."),
        table(["figure", "what", "stands in", "command", "seeds", "machine", "commit"], rows))
