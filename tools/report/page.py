"""The page: its parts, the data of its plots, its style and scripts, in one file."""

import json
import re
from datetime import datetime, timezone
from html import escape
from pathlib import Path
from statistics import mean

from cells import commit, machine

from . import agreement, bench, library, overhead, simulated

PARTS = Path(__file__).with_name("page")
SCRIPTS = ["frame.js", "summary.js", "cost.js", "timeline.js", "real.js"]


def write(measured, path):
    body = "".join(part.sections(measured) for part in (simulated, bench, agreement, overhead))
    text = (PARTS / "index.html").read_text()
    filled = {
        "style": (PARTS / "page.css").read_text(),
        "made": f"Made {datetime.now(timezone.utc):%Y-%m-%d} of commit {escape(commit())} on {escape(machine())}.",
        "contents": contents(body),
        "body": body,
        # A "</script>" in it would end it.
        "data": json.dumps(data(measured), separators=(",", ":")).replace("</", "<\\/"),
        "library": "\n".join(f"<script>{script}</script>" for script in library.scripts()),
        "scripts": "\n".join((PARTS / name).read_text() for name in SCRIPTS),
    }
    page = re.sub(r"\{\{(\w+)\}\}", lambda found: filled[found[1]], text)
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(page)


def contents(body):
    found = re.findall(r'<section id="([^"]+)"><h2>([^<]+)</h2>', body)
    return "".join(f'<li><a href="#{name}">{title}</a></li>' for name, title in found)


def data(m):
    """What the plots draw."""
    return {
        "peers": [{"name": name, "label": m.label(name)} for name in m.peers],
        "cells": [cell(key, lines) for key, lines in m.table.items()],
        "timelines": [timeline(name, result["lines"]) for name, result in m.timelines.results.items()],
        "bench": bench.data(m),
        "overhead": overhead.data(m),
        "agreement": agreement.data(m),
    }


def cell(key, lines):
    average = lambda field: round(mean(line[field] or 0.0 for line in lines), 5)
    model, load, peer = key
    return {"model": model, "load": load, "peer": peer, "efficiency": average("efficiency"),
            "refused": average("refused_share"), "wait": average("wait_p95_ms") / 1e3,
            "best": average("clairvoyant_p95_ms") / 1e3}


def timeline(name, lines):
    fields = ["offered", "accepted", "refused", "envelope"]
    runs = [{"peer": line["peer"]} | {field: [bucket[field] for bucket in line["timeline"]["buckets"]]
                                      for field in fields} for line in lines]
    return {"name": name, "bucket_ms": lines[0]["timeline"]["bucket_ms"], "runs": runs}
