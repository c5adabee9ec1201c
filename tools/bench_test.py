"""python3 -m unittest discover -s tools -p '*_test.py'"""

import unittest

from bench_paths import behind, cell, chosen, table
from spread import ratios, spread


class Spreads(unittest.TestCase):
    def test_median_and_both_ends(self):
        self.assertEqual(spread([3.0, 1.0, 2.0]), (2.0, 1.0, 3.0))
        self.assertEqual(spread([4, 1]), (2.5, 1, 4))

    def test_what_is_missing_does_not_count(self):
        self.assertEqual(spread([None, 5.0]), (5.0, 5.0, 5.0))
        self.assertIsNone(spread([None]))

    def test_ratios_are_within_a_round(self):
        self.assertEqual(ratios([2.0, 30.0], [1.0, 10.0]), [2.0, 3.0])
        self.assertEqual(ratios([2.0, 30.0], [0.0, 10.0]), [3.0])
        with self.assertRaises(ValueError):
            ratios([1.0], [])


class Paths(unittest.TestCase):
    def totals(self, efficiency, wait=1500):
        return {"efficiency": efficiency, "refused_share": 0.05, "attempts_per_call": 1.0,
                "wait_p50_ms": wait, "wait_p95_ms": wait}

    def test_only_takes_what_it_names(self):
        self.assertEqual(chosen(["slope", "window"], ["weir", "slope"]), ["slope"])
        self.assertEqual(chosen(["slope", "window"], ["weir"]), ["slope", "window"])
        self.assertEqual(cell("slope", "weir", 2), "slope/weir/2")

    def test_a_table_shows_shares_in_percent_and_waits_in_seconds(self):
        shown = table("slope", {"Weir": [self.totals(1.0), self.totals(0.5)], "Nothing": [self.totals(0.0, None)]})
        self.assertIn("0.750 (0.500 to 1.000)", shown)
        self.assertIn("5.0 (5.0 to 5.0)", shown)
        self.assertIn("1.50 (1.50 to 1.50)", shown)
        self.assertIn("none", shown.splitlines()[2])

    def test_what_is_better_than_weir_is_named(self):
        rows = {"Weir": [self.totals(0.9)], "More": [self.totals(0.95)], "Less": [self.totals(0.8, 1)]}
        self.assertEqual(behind("Weir", rows), ["More is ahead of Weir in efficiency: 0.950, Weir 0.900"])
        rows = {"Weir": [self.totals(0.9)], "Sooner": [self.totals(0.89, 1000)], "None": [self.totals(0.9, None)]}
        self.assertEqual(behind("Weir", rows), [
            "Sooner is ahead of Weir in wait p50 s: 1.00, Weir 1.50",
            "Sooner is ahead of Weir in wait p95 s: 1.00, Weir 1.50"])
        self.assertEqual(behind("Weir", {"More": rows["Weir"]}), [])


if __name__ == "__main__":
    unittest.main()
