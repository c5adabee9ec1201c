"""python3 -m unittest discover -s tools -p '*_test.py'"""

import unittest
from pathlib import Path
from tempfile import TemporaryDirectory
from unittest.mock import patch

from report import agreement, behind, figures, loads, overhead, peers
from report.measured import Measured

SAMPLE = Path(__file__).resolve().parent.parent / "tests" / "data" / "report"


def lines(*efficiencies):
    return [{"seed": seed, "efficiency": value, "refused_share": 0.0} for seed, value in enumerate(efficiencies)]


class Behind(unittest.TestCase):
    def test_every_peer_whose_mean_is_above_weirs_is_named_the_widest_first(self):
        table = {("a", "peak", "weir"): lines(0.9, 0.8), ("a", "peak", "none"): lines(0.95, 0.85),
                 ("a", "peak", "aimd"): lines(0.8, 0.8), ("a", "peak", "sdk"): lines(1.0, 1.0),
                 ("b", "peak", "weir"): lines(1.0, 1.0), ("b", "peak", "none"): lines(1.0, 1.0)}
        found = behind.gaps(table)
        self.assertEqual([(gap.model, gap.peer, round(gap.mean, 6)) for gap in found], [("a", "sdk", 0.15), ("a", "none", 0.05)])
        self.assertEqual([gap.ahead for gap in found], [2, 2])

    def test_what_may_be_chance_is_not_certain(self):
        gap = lambda *theirs: behind.Gap("a", "peak", "sdk", lines(0.5, 0.5, 0.5), lines(*theirs))
        self.assertTrue(gap(0.6, 0.61, 0.6).is_certain)
        self.assertFalse(gap(0.9, 0.4, 0.6).is_certain)
        self.assertFalse(behind.Gap("a", "peak", "sdk", lines(0.5), lines(0.9)).is_certain)

    def test_every_peer_has_a_reason(self):
        self.assertEqual({*behind.REASONS, "weir"}, set(peers.NAMES))

    def test_the_margin_is_students(self):
        # Three values with standard deviation 1: 4.30 / sqrt(3).
        self.assertAlmostEqual(behind.margin([1.0, 2.0, 3.0]), 2.4826, places=3)

    def test_seeds_that_weir_did_not_play_do_not_count(self):
        table = {("a", "peak", "weir"): lines(0.5), ("a", "peak", "sdk"): lines(0.5, 1.0)}
        self.assertEqual(behind.gaps(table), [])


class Figures(unittest.TestCase):
    def wrong(self, text, kept):
        with TemporaryDirectory() as folder:
            root = Path(folder)
            (root / "docs").mkdir()
            (root / "README.md").write_text(text)
            with patch.multiple(figures, ROOT=root, kept=lambda: {name: {"value": value} for name, value in kept.items()}):
                return figures.wrong()

    def test_a_text_that_says_something_else_is_wrong(self):
        self.assertEqual(self.wrong("A <!--fig a-->1.5<!--/-->", {"a": "1.5"}), [])
        self.assertEqual(self.wrong("A <!--fig a-->1.5<!--/-->", {"a": "1.6"}), ["README.md: a is 1.5, measured 1.6"])
        self.assertEqual(self.wrong("A <!--fig b-->1.5<!--/-->", {"a": "1.6"}),
                         ["README.md: b was never measured, or is no figure's name"])

    def test_where_figures_stand_every_number_has_a_mark(self):
        text = "8 <!--measured--> `v1.2` [x](#3) <!--fig a-->1.5<!--/--> p95 {}<!--/measured--> 9"
        self.assertEqual(self.wrong(text.format(""), {"a": "1.5"}), [])
        self.assertEqual(self.wrong(text.format("2.5 "), {"a": "1.5"}), ["README.md: 2.5 has no mark"])

    def test_a_mark_at_the_beginning_of_a_line_would_be_a_block_of_html(self):
        self.assertEqual(self.wrong("A\n<!--fig a-->1.5<!--/-->", {"a": "1.5"}),
                         ["README.md: a line begins with the mark of a, which ends the paragraph in Markdown"])

    def test_every_name_is_one_figures(self):
        names = [name for name, *_ in [*figures.KNOWN, *figures.COUNTED]]
        self.assertEqual(len(names), len(set(names)))


class Sample(unittest.TestCase):
    def setUp(self):
        self.measured = Measured(SAMPLE)

    def test_the_simulator_is_compared_with_what_was_measured(self):
        found = agreement.compared(self.measured.agreement, self.measured.bench)
        self.assertEqual(set(found), {(model, peer) for model in ("slope", "concurrency") for peer in ("weir", "none")})

    def test_the_load_of_the_bench_is_the_simulators(self):
        calls = agreement.arrivals(60, 1, 6)
        self.assertEqual((len(calls), calls[0], calls[30]), (330, 0.0, 1.0))
        self.assertEqual(calls, sorted(calls))
        loads_of_bench = {result["load"] for result in self.measured.bench.results.values()}
        self.assertTrue(all(agreement.LOAD.fullmatch(load) for load in loads_of_bench), loads_of_bench)

    def test_what_a_filter_costs_is_of_the_same_round(self):
        found = overhead.data(self.measured)
        self.assertEqual([(row["filter"], row["workers"]) for row in found][:2], [("no filter", "1 worker"), ("no-op wasm", "1 worker")])
        self.assertEqual(found[0]["median"], 116)

    def test_figures_of_cells_are_there(self):
        names = ["sim-seeds", "recovery-runs", "bench-slope-weir-efficiency", "overhead-no-filter-1", "agreement-pairs"]
        values = {name: figure["value"] for name, figure in figures.measure(self.measured, names)}
        self.assertEqual(values, {"sim-seeds": "2", "recovery-runs": "4", "bench-slope-weir-efficiency": "0.998",
                                  "overhead-no-filter-1": "116 (111 to 121)", "agreement-pairs": "4"})


class Loads(unittest.TestCase):
    def test_loads_have_words(self):
        self.assertEqual(loads.label("agents:40:12:3"), "agents: 40, 12 calls each, up to 3 tries")
        self.assertEqual(loads.label("agents:40:12"), "agents: 40, 12 calls each, up to 1 tries")
        self.assertEqual(loads.label("diurnal:60:120"), "diurnal: a day in 120 s, 60 calls/s at noon")
        self.assertEqual(loads.label("peak"), "peak")


if __name__ == "__main__":
    unittest.main()
