"""Where Weir is not ahead: every model, load and peer whose mean is above Weir's."""

from statistics import mean, stdev

# Two-sided 95 % points of Student's t by degrees of freedom.
T = {1: 12.71, 2: 4.30, 3: 3.18, 4: 2.78, 5: 2.57, 6: 2.45, 7: 2.36, 8: 2.31, 9: 2.26, 14: 2.14, 19: 2.09}

# Why a peer can be ahead, by its kind.
IMPATIENT = ("Asking again and again means to be there when a place comes free. These models charge nothing for a refusal; real "
             "providers often do, and every refused attempt is one more that they had to answer.")
TOLD = "Was told the limit, or was tuned to the model in hindsight. Weir is told nothing and has to be refused to learn it."
LEARNS = ("Learns as Weir does, with other constants, which fit some models better. Those of Weir were chosen for all kinds of "
          "limits at once.")
UNTAUGHT = ("Neither waits nor pauses: where a limit follows recent use, the load itself keeps it high, while each of Weir's "
            "pauses lowers it. And where calls cost different numbers of tokens, it loses the dear ones and serves the cheap.")
MORE_THAN_ALL = ("Where calls cost different numbers of tokens, who leaves out the dear ones serves more calls than "
                 "first come, first served, which the clairvoyant queue is.")
REASONS = {
    "sdk": IMPATIENT, "envoy-retry": IMPATIENT, "envoy-retry-hard": IMPATIENT, "leaky-bucket-double": IMPATIENT,
    "none": UNTAUGHT,
    "leaky-bucket": TOLD, "leaky-bucket-half": TOLD, "local-ratelimit": TOLD, "deer-flow": TOLD,
    "aws-adaptive": LEARNS, "aimd": LEARNS, "gentle-prober": LEARNS, "netflix-aimd": LEARNS, "gradient2": LEARNS,
    "adaptive-concurrency": LEARNS,
}


def reasons(found):
    """Reason -> peers, for those that are ahead somewhere."""
    by_reason = {}
    for gap in found:
        by_reason.setdefault(REASONS[gap.peer], {})[gap.peer] = None
    return by_reason


class Gap:
    """A peer's efficiency less Weir's, seed by seed: both played the same calls."""

    def __init__(self, model, load, peer, ours, theirs):
        """`ours`, `theirs`: the simulator's lines of the same seeds."""
        self.model, self.load, self.peer = model, load, peer
        self.ours, self.theirs = (mean(line["efficiency"] for line in lines) for lines in (ours, theirs))
        self.our_refused, self.their_refused = (mean(line["refused_share"] for line in lines) for lines in (ours, theirs))
        self.each = [b["efficiency"] - a["efficiency"] for a, b in zip(ours, theirs)]
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
        ours = {line["seed"]: line for line in table.get((model, load, own), [])}
        theirs = [line for line in lines if line["seed"] in ours]
        if peer == own or not theirs:
            continue
        gap = Gap(model, load, peer, [ours[line["seed"]] for line in theirs], theirs)
        if gap.mean > 0:
            found.append(gap)
    return sorted(found, key=lambda gap: (-gap.mean, gap.model, gap.load, gap.peer))
