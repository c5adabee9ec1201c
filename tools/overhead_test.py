"""python3 -m unittest discover -s tools -p '*_test.py'"""

import unittest

from overhead_table import conflicts, overhead, scale
from wrk import failures, latency

# What wrk 4.1.0 prints.
OUTPUT = """\
Running 3s test @ http://127.0.0.1:10000
  1 threads and 8 connections
  Thread Stats   Avg      Stdev     Max   +/- Stdev
    Latency     1.27ms    1.14ms  22.35ms   91.61%
    Req/Sec     6.91k     1.02k    8.66k    73.33%
  Latency Distribution
     50%  850.00us
     75%    1.40ms
     90%    2.28ms
     99%    1.05s
  20642 requests in 3.00s, 6.73MB read
Requests/sec:   6874.35
Transfer/sec:      2.24MB
"""


class Output(unittest.TestCase):
    def test_latencies_are_in_microseconds(self):
        self.assertEqual(latency(OUTPUT, 50), 850)
        self.assertEqual(latency(OUTPUT, 75), 1400)
        self.assertEqual(latency(OUTPUT, 99), 1_050_000)

    def test_only_success_is_no_failure(self):
        self.assertIsNone(failures(OUTPUT))
        self.assertEqual(failures(OUTPUT + "  Non-2xx or 3xx responses: 7\n"), "Non-2xx or 3xx responses: 7")
        timeouts = "  Socket errors: connect 0, read 0, write 0, timeout 3\n"
        self.assertEqual(failures(timeouts + OUTPUT), timeouts.strip())


class Tables(unittest.TestCase):
    def one(self, cpu, p50=100, calls=0, queued=0, lost=0):
        latencies = {"p50_us": p50, "p99_us": 2 * p50}
        return {"cpu_us": cpu, **latencies, "alone": latencies,
                "weir_calls": calls, "weir_queued": queued, "weir_conflicts": lost}

    def test_what_is_added_is_compared_within_a_round(self):
        # The second round was twice as slow for all.
        rounds = {"no filter": [self.one(100), self.one(200)], "no-op wasm": [self.one(110), self.one(220)],
                  "Weir": [self.one(130, 150, 10, 5), self.one(260, 150, 10, 5)]}
        plain, noop, weir = overhead("", rounds).splitlines()[1:]
        self.assertIn("150.0 (100.0 to 200.0)", plain)
        self.assertIn("1.10 (1.10 to 1.10)", noop)
        for text in "1.30 (1.30 to 1.30)", "3.00 (3.00 to 3.00)", "50.0 (50.0 to 50.0)", "100 (100 to 100)":
            self.assertIn(text, weir)

    def test_a_no_op_that_adds_nothing_gives_no_ratio(self):
        rounds = {"no filter": [self.one(100)] * 2, "no-op wasm": [self.one(90), self.one(110)],
                  "Weir": [self.one(130)] * 2}
        self.assertIn("3.00 (3.00 to 3.00)", overhead("", rounds).splitlines()[3])

    def test_scale_is_compared_to_the_first(self):
        rows = scale({"1 keys": [self.one(100)], "9 keys": [self.one(125)]}).splitlines()
        self.assertIn("1.00 (1.00 to 1.00)", rows[1])
        self.assertIn("1.25 (1.25 to 1.25)", rows[2])

    def test_a_call_has_two_decisions(self):
        said = conflicts([self.one(1, calls=100, lost=1), self.one(1, calls=300, lost=3)])
        self.assertIn("4 writes lost to another worker in 800 decisions, 0.0050", said)


if __name__ == "__main__":
    unittest.main()
