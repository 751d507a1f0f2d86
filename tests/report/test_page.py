"""polysched/cli/report_page: a page holds together, shows everything escaped, and links lines that belong together."""

from __future__ import annotations

import re
import sys
from pathlib import Path

import pytest
from nests import stencil2
from pages import Page

import polysched as ps
from polysched.cli import main
from polysched.cli.report_page.code import coloured
from polysched.cli.report_page.page import MARK, page

POLYBENCH = Path(__file__).parents[2] / "benchmarks" / "polybench" / "c"
TWO = """\
/* a <b>file</b> & "more" */
void first(int n, double a[n])
{
#pragma scop
    for (int i = 1; i < n; i++)
        a[i] = a[i - 1] < 1.0 ? a[i - 1] : 0.5;
#pragma endscop
}

void second(int n, double a[n])
{
#pragma scop
    for (int i = 0; i < n; i++)
        a[i] = 2.0 * a[i];
#pragma endscop
}
"""


@pytest.fixture
def file(tmp_path) -> Path:
    path = tmp_path / "two.c"
    path.write_text(TWO)
    return path


def well_formed(text: str) -> Page:
    parsed = Page(text)
    assert len(set(parsed.ids)) == len(parsed.ids)
    assert set(parsed.links) <= set(parsed.ids)
    assert parsed.outside == []
    return parsed


@pytest.mark.parametrize("name", ["gemm", "jacobi-1d", "gramschmidt"])
def test_pages_of_polybench_hold_together(name):
    path = POLYBENCH / f"{name}.c"
    text = page(str(path), [ps.optimize(nest) for nest in ps.from_c(path)])
    well_formed(text)
    assert text.startswith(MARK) and text.count("<svg") == 1 and len(text) < 2_000_000


@pytest.mark.parametrize("target", ["c", "cuda", "opencl"])
def test_generated_lines_are_linked_to_the_lines_they_stem_from(file, target):
    first, second = ps.from_c(file)
    text = page(str(file), [ps.optimize(nest, target) for nest in (first, second)])
    parsed = well_formed(text)
    assert parsed.lines["nest1-s6"] == "6" and parsed.lines["nest1-s5"] is None
    assert parsed.lines["nest2-s14"] == "14"
    for k, line, pattern in ((1, "6", r"a\[.*\] = .*0\.5;"), (2, "14", r"a\[.*\] (\*= 2|= 2\.0 \*)")):
        found = [id_ for id_, of in parsed.lines.items() if id_.startswith(f"nest{k}-g") and of == line]
        rows = [re.search(f'id="{id_}".*?</div>', text).group() for id_ in found]
        assert any(re.search(pattern, re.sub("<[^>]*>", "", row)) for row in rows)


def test_everything_is_escaped(file):
    text = page("<x>.c", [ps.optimize(ps.from_c(file)[0])])
    assert "<title>&lt;x&gt;.c: report of polysched</title>" in text
    assert "a[i - <span" in text and "&lt; <span" in text and "<b>file" not in text


def test_the_excerpt_is_the_function_alone(file):
    parsed = Page(page(str(file), [ps.optimize(ps.from_c(file)[1])]))
    assert [id_ for id_ in parsed.lines if "-s" in id_] == [f"nest1-s{line}" for line in range(10, 17)]


PYTHON = """\
import polysched as ps
@ps.nest
def one(a: ps.f64["T + 1", "n"], T: ps.size, n: ps.size):
    for t in range(T):
        for i in range(1, n - 1):
            a[t + 1, i] = a[t, i - 1] + a[t, i + 1]
@ps.nest
def two(a: ps.f64["n"], n: ps.size):
    for i in range(1, n):
        a[i] = a[i - 1] * a[i - 1]
"""


def test_the_excerpt_of_a_python_file_is_one_nest(tmp_path):
    path, out = tmp_path / "nests.py", tmp_path / "out.html"
    path.write_text(PYTHON)
    for name, lines in {"one": range(2, 7), "two": range(7, 11)}.items():
        assert main(["report", f"{path}:{name}", "-o", str(out)]) == 0
        shown = [id_ for id_ in Page(out.read_text()).lines if "-s" in id_]
        assert shown == [f"nest1-s{line}" for line in lines]


def test_the_verdict_comes_first(tmp_path):
    path, out = tmp_path / "nests.py", tmp_path / "out.html"
    path.write_text(PYTHON)
    assert main(["report", f"{path}:one", "--time", "-o", str(out)]) == 0
    found = rows_of_the_verdict(out.read_text())
    assert list(found) == ["Threads", "Tiles", "SIMD", "Predicted", "Measured"]
    assert found["SIMD"] == "t + i" and "in wavefronts" in found["Tiles"]
    times = r"at T = \d+, n = \d+: as found .* [mu]?s, in source order .* runs each, at a load of .*"
    assert re.fullmatch(times, found["Measured"])
    assert main(["report", f"{path}:two", "-o", str(out)]) == 0
    found = rows_of_the_verdict(out.read_text())
    assert {found[name] for name in ("Threads", "Tiles", "SIMD")} == {"none"}
    assert main(["report", f"{path}:one", "--target", "cuda", "--time", "-o", str(out)]) == 0
    found = rows_of_the_verdict(out.read_text())
    assert found["Measured"] == "not for GPUs" and "on thread.x" in found["Blocks and threads"]


def test_lanes_and_copies_are_said_in_the_verdict():
    schedule = ps.Schedule(summed, options=ps.Options(reorder_reductions=True)).vectorize("i", 8)
    assert "i: SIMD of 8 lanes, each with its own s" in schedule.explain()
    text = page("", [ps.optimize(summed, schedule=schedule)])
    assert rows_of_the_verdict(text)["SIMD"] == "i"


@ps.nest
def summed(a: ps.f64["n"], s: ps.f64[1], n: ps.size):  # noqa: F821, UP037
    for i in range(n):
        s[0] += a[i]


def rows_of_the_verdict(text: str) -> dict[str, str]:
    (verdict,) = re.findall(r'<dl class="verdict">(.*?)</dl>', text)
    assert text.index("<dl class=") < text.index("<h3>Code</h3>")
    return dict(re.findall(r"<dt>(.*?)</dt>.*?<dd>(.*?)</dd>", verdict))


def test_decisions_have_their_candidates_and_reasons(file):
    text = page(str(file), [ps.optimize(ps.from_c(file)[1])])
    assert re.search(r"<tr><td>tile.i</td><td>0</td><td>0, 8, .*?</td><td>it is alone in its band</td></tr>", text)
    assert "compiled it in" in text and not re.search(r'class="about">C in \d+ ms', text)


def test_a_source_that_has_changed_is_not_shown(file):
    done = ps.optimize(ps.from_c(file)[1])
    file.write_text("nothing\n" * 20)
    parsed = Page(page(str(file), [done]))
    assert [id_ for id_ in parsed.lines if "-s" in id_] == ["nest1-s13", "nest1-s14"]


def test_a_nest_that_has_no_file():
    well_formed(page("here", [ps.optimize(stencil2(margin=1))]))


def test_dependences_have_lines_distances_and_an_example(file):
    text = page(str(file), [ps.optimize(ps.from_c(file)[0])])
    (row,) = re.findall(r'<tr><td class="k-.*?</tr>', text)
    line = '<a href="#nest1-s6">6</a>'
    assert row == (
        f'<tr><td class="k-flow">flow</td><td>a</td><td>{line} → {line}</td><td>(1)</td>'
        "<td>S[1] → S[2] at n = 3</td></tr>"
    )


def test_reasons_have_links_to_lines(file):
    text = page(str(file), [ps.optimize(ps.from_c(file)[0])])
    assert 'line <a href="#nest1-s6">6</a>' in text


def test_without_matplotlib_there_is_a_note(file, monkeypatch):
    monkeypatch.setitem(sys.modules, "matplotlib", None)
    text = page(str(file), [ps.optimize(ps.from_c(file)[0])])
    well_formed(text)
    assert "There is no picture: pictures need matplotlib: pip install &#x27;polysched[report]&#x27;" in text


def test_code_has_its_parts_told_apart():
    assert coloured("for (int i = 0; i < n; i++) // go") == (
        '<span class="c-keyword">for</span> (<span class="c-type">int</span> i = <span class="c-number">0</span>; '
        'i &lt; n; i++) <span class="c-comment">// go</span>'
    )
    assert coloured('    #pragma omp simd') == '<span class="c-pragma">    #pragma omp simd</span>'
    assert coloured("x  # of a <b>") == 'x  <span class="c-comment"># of a &lt;b&gt;</span>'


# --- the command


def test_the_command_writes_a_page_and_writes_over_its_own(file, tmp_path, capsys):
    out = tmp_path / "out.html"
    for _ in range(2):
        assert main(["report", str(file), "-o", str(out)]) == 0
        assert capsys.readouterr().out == f"{out}: first, second\n"
    well_formed(out.read_text())


def test_the_command_takes_one_nest_and_a_target(file, tmp_path):
    out = tmp_path / "out.html"
    assert main(["report", f"{file}:second", "--target", "cuda", "-o", str(out)]) == 0
    text = out.read_text()
    assert "<h2 " in text and text.count("<h2 ") == 1 and "__global__" in text


def test_no_other_file_is_written_over(file, capsys):
    assert main(["report", str(file), "-o", str(file)]) == 2
    assert capsys.readouterr().err == f"'{file}' is there, and is no report\nhint: name another file: -o report.html\n"
    assert file.read_text() == TWO
