"""Where Weir is not ahead: every model, load and peer whose mean is above Weir's."""

from statistics import mean, stdev

# Two-sided 95 % points of Student's t by degrees of freedom.
T = {1: 12.71, 2: 4.30, 3: 3.18, 4: 2.78, 5: 2.57, 6: 2.45, 7: 2.36, 8: 2.31, 9: 2.26, 14: 2.14, 19: 2.09}


class Gap:
    """A peer's efficiency less Weir's, seed by seed: both played the same calls."""

    def __init__(self, model, load, peer, ours, theirs):
        self.model, self.load, self.peer = model, load, peer
        self.ours, self.theirs = mean(ours), mean(theirs)
        self.each = [b - a for a, b in zip(ours, theirs)]
        self.mean = mean(self.each)
        self.ahead = sum(gap > 0 for gap in self.each)
        self.margin = margin(self.each)

    @property
    def is_certain(self):
        return self.mean > self.margin


def margin(values):
    """Half of the 95 % confidence interval of their mean; without end for one value."""
    if len(values) < 2:
        return float("inf")
    freedom = max(known for known in T if known <= max(len(values) - 1, 1))
    return T[freedom] * stdev(values) / len(values) ** 0.5


def gaps(table, own="weir"):
    """All that are behind, the widest first."""
    found = []
    for (model, load, peer), lines in table.items():
        ours = {line["seed"]: line["efficiency"] for line in table.get((model, load, own), [])}
        both = [line for line in lines if line["seed"] in ours]
        if peer == own or not both:
            continue
        theirs = [line["efficiency"] for line in both]
        gap = Gap(model, load, peer, [ours[line["seed"]] for line in both], theirs)
        if gap.mean > 0:
            found.append(gap)
    return sorted(found, key=lambda gap: (-gap.mean, gap.model, gap.load, gap.peer))
