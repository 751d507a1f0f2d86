"""Time and size of reports: `python -m benchmarks.report` makes one of each PolyBench kernel, from its C file.

Prints seconds for the whole command's work, compilation included, and the size of the page. The exit status is 1 if one
takes more than 5 seconds. `python -m benchmarks.report DIR` keeps the pages.
"""

from __future__ import annotations

import sys
import time
from pathlib import Path

import polysched as ps
from polysched.cli.report_page.page import page

MOST_SECONDS = 5.0
KERNELS = Path(__file__).parent / "polybench" / "c"


def main(arguments: list[str]) -> int:
    slow = []
    print(f"{'kernel':16}{'seconds':>9}{'KB':>9}")
    for file in sorted(KERNELS.glob("*.c")):
        start = time.perf_counter()
        text = page(file.name, [ps.optimize(nest) for nest in ps.from_c(file)])
        seconds = time.perf_counter() - start
        print(f"{file.stem:16}{seconds:9.2f}{len(text.encode()) / 1000:9.0f}", flush=True)
        if seconds > MOST_SECONDS:
            slow.append(file.stem)
        for folder in arguments[:1]:
            Path(folder, f"{file.stem}.html").write_text(text)
    if slow:
        print(f"more than {MOST_SECONDS} s: {', '.join(slow)}")
    return 1 if slow else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
