"""make report: measures what is missing in the simulator and writes the page.

    PYTHONPATH=tools python3 -m report [--seeds A..B] [--figures]
    PYTHONPATH=tools python3 -m report --check                   do README and docs say what was measured?
    PYTHONPATH=tools python3 -m report --only-page CELLS FILE    of the cells in a folder
"""

import argparse
import shutil
import sys
from pathlib import Path

from cells import FOLDER, ROOT

from . import counted, figures, page, simulate
from .measured import Measured

PAGE = ROOT / "out" / "report" / "index.html"
COPY = ROOT / "docs" / "report.html"


def main():
    options = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    options.add_argument("--seeds", default=simulate.SEEDS)
    options.add_argument("--figures", action="store_true", help="put what was measured into README and docs")
    options.add_argument("--check", action="store_true")
    options.add_argument("--only-page", nargs=2, type=Path, metavar=("CELLS", "FILE"))
    given = options.parse_args()
    if given.check:
        sys.exit("\n".join(figures.wrong()) or None)
    if given.only_page:
        cells, file = given.only_page
        return page.write(Measured(cells), file)
    simulate.Simulator(given.seeds).run(Measured(FOLDER).bench)
    if given.figures:
        counted.run()
        changed = figures.write(Measured(FOLDER))
        print(f"figures: {len(changed)} changed {', '.join(changed)}")
    page.write(Measured(FOLDER), PAGE)
    print(f"report: {PAGE}")
    if given.figures:
        shutil.copy(PAGE, COPY)


main()
