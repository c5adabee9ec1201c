"""Which tests and mutants stand behind each law of docs/laws.md.

    laws.py

Fails if a law that is built has no test named after it or fewer than two mutants.
"""

import re
import sys
from collections import defaultdict
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
MUTANTS_EACH = 2


def main():
    laws = dict(re.findall(r"^\| (L\d+) \| (.*?) \|", (ROOT / "docs/laws.md").read_text(), re.M))
    tests, mutants = tests_by_law(), mutants_by_law()
    weak = []
    for law, promise in laws.items():
        print(f"{law}: {promise}")
        for name in tests[law]:
            print(f"    test    {name}")
        for name in mutants[law]:
            print(f"    mutant  {name}")
        if "Not built" not in promise and (not tests[law] or len(mutants[law]) < MUTANTS_EACH):
            weak.append(f"{law} has {len(tests[law])} tests and {len(mutants[law])} mutants")
    strays = sorted((set(tests) | set(mutants)) - set(laws))
    weak += [f"{law} is no law of docs/laws.md" for law in strays]
    for line in weak:
        print(f"laws: {line}", file=sys.stderr)
    return 1 if weak else 0


def tests_by_law():
    found = defaultdict(list)
    for folder in ("src", "tests"):
        for path in sorted((ROOT / folder).rglob("*.rs")):
            for name in re.findall(r"fn ((?:l\d+_)+\w+)\(", path.read_text()):
                for law in re.findall(r"l(\d+)_", re.match(r"(?:l\d+_)+", name)[0]):
                    found[f"L{law}"].append(f"{name}  ({path.relative_to(ROOT)})")
    return found


def mutants_by_law():
    found = defaultdict(list)
    for path in sorted((ROOT / "tests/mutants").glob("*.patch")):
        header = path.read_text()
        why = re.search(r"^# why: (.*)", header, re.M)[1]
        for law in re.findall(r"L\d+", re.search(r"^# law: (.*)", header, re.M)[1]):
            found[law].append(f"{path.stem}: {why}")
    return found


if __name__ == "__main__":
    sys.exit(main())
