"""What repetitions amount to: their median, and the lowest and the highest of them."""

import statistics
from typing import NamedTuple


class Spread(NamedTuple):
    median: float
    lowest: float
    highest: float

    def text(self, form):
        """`1.00 (0.98 to 1.01)`, each number in that form."""
        return f"{self.median:{form}} ({self.lowest:{form}} to {self.highest:{form}})"


def spread(values):
    """Of those that are there; None if none is."""
    values = [value for value in values if value is not None]
    return Spread(statistics.median(values), min(values), max(values)) if values else None


def ratios(above, below):
    """What was measured in the same round over each other: a busy machine slows both."""
    return [a / b for a, b in zip(above, below, strict=True) if b]
