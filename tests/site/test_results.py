"""The page of benchmarks: tables are read as they are meant, drawn by what their headers say, and losses are found."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from benchmarks.__main__ import commands
from benchmarks.record import name_of, record
from docs.site_parts import results_plots
from docs.site_parts.results import Piece, _with_links, pieces_of, ratios_of
from docs.site_parts.results_ratios import judge, kind
from docs.site_parts.results_records import with_records
from docs.site_parts.results_tables import Table, read

SPEEDS = """\
an EPYC, load 1.6
ms                    gcc      min    ours, 1      min    x, 1  compile gcc of it
gemm              140.087  139.670     91.021   89.087    1.54       75       191
seidel-2d       17115.16117099.842   9952.910 9952.437    1.72       97        94
jacobi-1d           0.318    0.318      0.354    0.353    0.90       81        96
"""
ABREAST = """\
us          source   ours, 1   ratio   us          source   ours, 1   ratio
s000         2.271     2.275    1.00   s244        26.549     4.422    6.00
s111         4.437     4.407    1.01
"""
PAIRS = """\
               stages   stage by stage        in windows
pipeline                fresh     kept     fresh     kept
blur                2    32.7     11.2       6.0      5.9
unsharp             3             13.8                6.4
"""
VARIANTS = """\
nest            variant                           ms     least runs  by          share
gemm            ours                           0.118     0.114   20  operations  98.9%
gemm            source order                   0.113     0.111   20  operations 102.9%
lu              ours                          24.541    24.474   20  operations   0.6%
lu              source order              took too long
"""
SAID = """\
softmax 128 x 1000: ours 0.0099 ms; PyTorch 0.0285 ms, 2.88 of ours
softmax 8 x 32000: ours 0.0264 ms; PyTorch 0.0188 ms, 0.71 of ours
"""
COUNTS = """\
kernel              ms      deps  nests: outer inner serial   result
correlation        582        30          11     0      0   right
"""
WINDOWS = """\
| one thread | gcc on the source over ours: before | after |
|---|---|---|
| sobel | 0.96 to 1.18 | 1.00 |
| blur, `out[i][j]` | 0.38 to 0.40 | 1.02 to 1.10, once 0.89 |
"""
SLOWER = """\
| target | texts | 5435a1f | now | all |
|---|---|---|---|---|
| C | 57 | 16.4 | 18.6 | 1.13 |
| CUDA | 57 | 20.0 | 23.9 | 1.20 |
"""


def the_table(text: str, context: str = "") -> Table:
    (table,) = read(text)
    return judge(table, context)


def cells(table: Table) -> dict[str, list[tuple[float, ...]]]:
    return {column.name: column.cells for column in table.columns}


def test_columns_are_told_by_their_places() -> None:
    found = cells(the_table(SPEEDS))
    assert found["gcc"] == [(140.087,), (17115.161,), (0.318,)]
    assert found["ours, 1 min"] == [(89.087,), (9952.437,), (0.353,)]
    assert found["gcc of it"] == [(191,), (94,), (96,)]


def test_tables_side_by_side_are_one() -> None:
    table = the_table(ABREAST)
    assert table.labels == ["s000", "s111", "s244"]
    assert cells(table)["ratio"] == [(1.0,), (1.01,), (6.0,)]


def test_names_in_two_lines_and_gaps() -> None:
    found = cells(the_table(PAIRS))
    assert found["stages"] == [(2,), (3,)]
    assert found["stage by stage: fresh"] == [(32.7,), ()]
    assert found["in windows: kept"] == [(5.9,), (6.4,)]


def test_sentences_that_differ_in_numbers_are_rows() -> None:
    table = the_table(SAID)
    assert table.labels == ["softmax 128 x 1000", "softmax 8 x 32000"]
    assert [column.cells for column in table.columns if column.ratio] == [[(2.88,), (0.71,)]]


def test_a_table_without_header_goes_on_the_one_before() -> None:
    (before,) = read(SPEEDS)
    (after,) = read("\n".join(SPEEDS.splitlines()[2:]), before)
    assert [column.name for column in after.columns] == [column.name for column in before.columns]


@pytest.mark.parametrize(("text", "expected"), [
    (SPEEDS, "ratios"), (ABREAST, "ratios"), (SAID, "ratios"), (WINDOWS, "ratios"), (SLOWER, "ratios"),
    (PAIRS, "times"), (VARIANTS, "times"), (COUNTS, "")])
def test_the_header_decides_the_plot(text: str, expected: str) -> None:
    table = the_table(text)
    assert kind(table) == expected
    assert bool([*results_plots.draw(table)]) == bool(expected)


@pytest.mark.parametrize(("text", "better"), [
    (SPEEDS, {"x, 1": 1}), (ABREAST, {"ratio": 1}), (SLOWER, {"now / 5435a1f": -1}),
    (WINDOWS, {"gcc on the source over ours: before": 0, "gcc on the source over ours: after": 1})])
def test_which_way_is_better(text: str, better: dict[str, int]) -> None:
    assert {column.name: column.better for column in the_table(text).columns if column.ratio} == better


def test_ratios_that_only_the_text_names() -> None:
    text = "batch_matmul    4 gm 4.04 worst 2.52\nconv2d    52 gm 0.67 worst 0.04"
    assert kind(the_table(text)) == ""
    assert kind(the_table(text, "Times of PyTorch over ours: means, the worst")) == "ratios"


def test_losses_are_found() -> None:
    pieces = [Piece(text, "s", tables=[the_table(text)]) for text in (SPEEDS, WINDOWS, SLOWER)]
    ratios = ratios_of(pieces)
    lost = [(ratio.row, ratio.column, round(ratio.value, 2)) for ratio in ratios if ratio.value < 0.95]
    assert len(ratios) == 7
    assert lost == [("jacobi-1d", "x, 1", 0.9), ("blur, `out[i][j]`", "gcc on the source over ours: after", 0.89),
                    ("C", "now / 5435a1f", 0.88), ("CUDA", "now / 5435a1f", 0.83)]


def test_colours_and_pages() -> None:
    (figure,) = results_plots.draw(the_table(SPEEDS))
    pictures = results_plots.svg(figure)
    assert all(results_plots.LOSS in picture and results_plots.WIN in picture for picture in pictures.values())
    assert not any(results_plots.INK in picture for picture in pictures.values())
    assert pictures["light"] != pictures["dark"]


def test_links_resolve_in_the_site() -> None:
    assert _with_links("see [docs/gpu.md](../docs/gpu.md)") == "see [docs/gpu.md](../../gpu.md)"
    assert _with_links("see [`rows.py`](rows.py)") == "see `rows.py`"
    assert _with_links("see [isl](https://isl.org)") == "see [isl](https://isl.org)"


def test_pieces_are_the_whole_text() -> None:
    text = f"# Results\n\nWords.\n\n## `a`\n\nMore:\n\n```\n{SPEEDS}```\n\n{WINDOWS}\n\nThe end.\n"
    pieces = [*pieces_of(text)]
    assert "".join(piece.text for piece in pieces) == text
    assert [piece.section for piece in pieces if piece.tables] == ["`a`", "`a`"]


def test_headings_skip_no_level() -> None:
    pieces = pieces_of("# A\n\n### B\n\n### C\n\n## D\n")
    assert [piece.text for piece in pieces if piece.text.startswith("#")] == ["# A", "## B", "### C", "## D"]


def test_a_record_replaces_the_table_under_its_command(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "table.py").write_text(f"print({SPEEDS!r}.replace('1.54', '0.50'), end='')")
    command = f"python {tmp_path}/table.py"
    assert record(command, tmp_path / "results") and "gemm" in capsys.readouterr().out
    assert not record("python -c 1/0", tmp_path / "results")
    (kept,) = (tmp_path / "results").iterdir()
    assert {"machine", "load", "date", "compiler", "seconds"} <= set(json.loads(kept.read_text()))
    text = f"# Results\n\n## `{command}`\n\nWords.\n\n```\n{SPEEDS}```\n\n## `b`\n\n```\n{ABREAST}```\n"
    pieces = [*with_records([*pieces_of(text)], tmp_path / "results")]
    assert [(ratio.row, ratio.value) for ratio in ratios_of(pieces)][:2] == [("gemm", 0.5), ("seidel-2d", 1.72)]
    assert [piece.text for piece in pieces if "load" in piece.text and "in 0 s." in piece.text]
    assert sum(bool(piece.tables) for piece in pieces) == 2


def test_the_commands_of_the_results_can_be_run_again() -> None:
    found = commands()
    assert "python -m benchmarks.stages" in found and not any("FILE" in each or "DIR" in each for each in found)
    assert name_of("python -m benchmarks.polybench --dataset large") == "polybench-dataset-large"
    for command in found:
        module = Path(__file__).parents[2] / command.split()[2].replace(".", "/")
        assert module.with_suffix(".py").exists() or (module / "__main__.py").exists()
