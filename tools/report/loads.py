"""What comes, in words."""


def label(load):
    """`agents:40:12:3` is no name for people."""
    kind, *numbers = load.split(":")
    if kind == "agents":
        count, calls, tries = [*numbers, "1"][:3]
        return f"agents: {count}, {calls} calls each, up to {tries} tries"
    if kind == "diurnal":
        peak, seconds = numbers
        return f"diurnal: a day in {seconds} s, {peak} calls/s at noon"
    return load
