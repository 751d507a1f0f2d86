"""A report in headless Chromium: nothing is cut off at any width, and lines light up together."""

from __future__ import annotations

import re
import shutil
import subprocess
from pathlib import Path

import pytest

import polysched as ps
from polysched.cli.report_page.page import page

BROWSER = shutil.which("chromium") or shutil.which("chromium-browser") or shutil.which("google-chrome")
SEIDEL = Path(__file__).parents[2] / "benchmarks" / "polybench" / "c" / "seidel-2d.c"
ASKED = """<script>
const line = document.querySelector('[data-line="10"]');
line.click();
const lit = [...document.querySelectorAll(".lit")];
const kept = lit.map((each) => each.id.replace(/\\d+$/, "")).join(" ");
line.click();
document.body.dataset.result = [
  document.documentElement.scrollWidth - window.innerWidth,
  [...document.querySelectorAll("main > section > section, figure, table")].filter((e) => !e.clientWidth).length,
  [...new Set(kept.split(" "))].join(" "),
  document.querySelectorAll(".lit").length,
].join("; ");
</script></body>"""

pytestmark = pytest.mark.skipif(BROWSER is None, reason="there is no Chromium")


@pytest.fixture(scope="module")
def text() -> str:
    return page(str(SEIDEL), [ps.optimize(nest) for nest in ps.from_c(SEIDEL)])


@pytest.mark.parametrize("width", [1400, 800])
def test_it_fits_and_lines_light_up_together(text, width, tmp_path):
    path = tmp_path / "report.html"
    path.write_text(text.replace("</body>", ASKED))
    assert _result(_dom(path, width)) == "0; 0; nest1-s nest1-g; 0"


def _result(dom: str) -> str:
    return re.search(r'data-result="([^"]*)"', dom).group(1)


def _dom(path: Path, width: int) -> str:
    """The page as it is once its scripts have run."""
    flags = ["--headless", "--no-sandbox", "--disable-gpu", "--hide-scrollbars", "--virtual-time-budget=2000"]
    profile = f"--user-data-dir={path.parent / 'profile'}"
    command = [BROWSER, *flags, profile, f"--window-size={width},1000", "--dump-dom", path.as_uri()]
    return subprocess.run(command, capture_output=True, text=True, timeout=120, check=True).stdout
