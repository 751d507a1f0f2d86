"""A run of a benchmark as JSON: what it printed, the tables in that, and where and when it ran."""

from __future__ import annotations

import json
import os
import platform
import re
import shlex
import subprocess
import sys
import time
from dataclasses import asdict
from pathlib import Path

from benchmarks.polybench.timing import processor
from docs.site_parts.results_tables import read
from polysched.runtime.toolchain import find_compiler


def record(command: str, folder: Path) -> bool:
    """Runs it, printing as it goes, and keeps the result; what was kept before stays if it fails."""
    print(f"\n$ {command}", flush=True)
    about: dict[str, object] = {
        "command": command,
        "date": time.strftime("%Y-%m-%d"),
        "machine": f"{processor()}, {os.cpu_count()} cores",
        "load": round(os.getloadavg()[0], 1),
        "compiler": find_compiler().version,
        "python": platform.python_version(),
    }
    started = time.perf_counter()
    printed, status = _run(command)
    if status:
        print(f"exit status {status}")
        return False
    about["seconds"] = round(time.perf_counter() - started, 1)
    found = {**about, "tables": [asdict(table) for table in read(printed)], "printed": printed.split("\n")}
    folder.mkdir(exist_ok=True)
    (folder / f"{name_of(command)}.json").write_text(json.dumps(found, indent=1) + "\n")
    return True


def name_of(command: str) -> str:
    """As in polybench-dataset-large-runs-2."""
    return re.sub(r"\W+", "-", command.removeprefix("python -m benchmarks.")).strip("-")


def _run(command: str) -> tuple[str, int]:
    words = [sys.executable if word == "python" else word for word in shlex.split(command)]
    lines = []
    with subprocess.Popen(words, stdout=subprocess.PIPE, text=True) as process:
        for line in process.stdout or ():
            print(line, end="", flush=True)
            lines.append(line.rstrip())
    return "\n".join(lines), process.returncode
