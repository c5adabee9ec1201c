"""make report: measures what is missing in the simulator and writes the page.

    PYTHONPATH=tools python3 -m report [--seeds A..B]
    PYTHONPATH=tools python3 -m report --only-page CELLS FILE    of the cells in a folder
"""

import argparse
from pathlib import Path

from cells import FOLDER, ROOT

from . import page, simulate
from .measured import Measured


def main():
    options = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    options.add_argument("--seeds", default=simulate.SEEDS)
    options.add_argument("--only-page", nargs=2, type=Path, metavar=("CELLS", "FILE"))
    given = options.parse_args()
    cells, file = given.only_page or (FOLDER, ROOT / "out" / "report" / "index.html")
    if not given.only_page:
        simulate.Simulator(given.seeds).run(Measured(cells).bench)
    page.write(Measured(cells), file)
    print(f"report: {file}")


main()
