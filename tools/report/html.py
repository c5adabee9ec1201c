"""Pieces of HTML."""

from html import escape

from spread import spread


def table(head, rows, caption=""):
    """`head`: texts; `rows`: lists whose first is a text and whose others are texts or cells."""
    cells = "".join(f'<th scope="col">{escape(text)}</th>' for text in head)
    body = "".join(f"<tr>{row(values)}</tr>" for values in rows)
    caption = f"<caption>{escape(caption)}</caption>" if caption else ""
    named = escape(caption or head[0] or "table")
    kind = ' class="many"' if len(head) > 10 else ""
    return (f'<div class="scroll" role="region" tabindex="0" aria-label="{named}">'
            f"<table{kind}>{caption}<thead><tr>{cells}</tr></thead><tbody>{body}</tbody></table></div>")


def row(values):
    first, *others = values
    first = first if first.startswith("<th") else f'<th scope="row">{escape(first)}</th>'
    return first + "".join(value if value.startswith("<td") else plain(value) for value in others)


def own(name):
    """The head of Weir's row."""
    return f'<th scope="row" class="own">{escape(name)}</th>'


def ranged(values, form):
    """Median and both ends of what was measured again and again."""
    found = spread(values)
    return plain(found.text(form) if found else "none")


def heat(text, badness, title="", is_own=False):
    """A cell that is the darker the worse it is; `badness` from 0 to 1."""
    kind = ' class="own"' if is_own else ""
    return f'<td{kind} style="--bad:{max(0.0, min(badness, 1.0)):.3f}" title="{escape(title)}">{escape(text)}</td>'


def plain(text, title="", is_own=False):
    kind = ' class="own"' if is_own else ""
    return f'<td{kind} title="{escape(title)}">{escape(text)}</td>'


def text(words):
    """A cell to read."""
    return f'<td class="text">{escape(words)}</td>'


def plot(name, title, description=""):
    """Where a script draws; `name` is the plot's in plots.js."""
    return (f'<figure data-plot="{escape(name)}"><figcaption><strong>{escape(title)}</strong>'
            f" {escape(description)}</figcaption><div class=\"plot\"></div></figure>")


def section(name, title, *parts):
    return f'<section id="{name}"><h2>{escape(title)}</h2>{"".join(parts)}</section>'


def p(text):
    return f"<p>{escape(text)}</p>"


def missing(command):
    return f'<p class="missing">Not measured here yet: <code>{escape(command)}</code> does it, then <code>make report</code>.</p>'


def details(summary, *parts):
    return f"<details><summary>{escape(summary)}</summary>{''.join(parts)}</details>"


def origin(command, kind):
    machine, commit = kind.origin
    return f'<p class="origin">By <code>{escape(command)}</code> on {escape(machine)}; commit {escape(commit)}.</p>'
