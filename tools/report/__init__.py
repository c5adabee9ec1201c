"""The report: one page with all that was measured. `python3 -m report` with tools/ in PYTHONPATH.

`simulate` runs the cells of the simulator that are missing, `measured` reads all cells, `page` makes
HTML of them, a module a part: `simulated`, `behind`, `figures`. `library` fetches what draws.
"""
