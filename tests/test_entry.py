"""Refusals end at the user's line, whatever is between it and the line that refuses."""

import inspect
import subprocess
import sys
import threading
import traceback
import typing
from pathlib import Path

import pytest

import polysched as ps
from polysched.errors import InputError
from polysched.frontend.python import parse_nest
from polysched.operators import relu
from polysched.support.entry import entry
from polysched.transform.edits.base.registry import EDITS


@ps.nest
def copied(a: ps.f64["n"], b: ps.f64["n"], n: ps.size):
    for i in range(n):
        a[i] = b[i]


def while_loop(n: ps.size):
    while n:
        pass


@pytest.mark.parametrize(
    "refused",
    [
        lambda: ps.nest(while_loop),
        lambda: ps.op(while_loop),
        lambda: ps.optimize(5),
        lambda: ps.optimize(copied)(b=3),
        lambda: ps.optimize(copied).verify(k=3),
        lambda: ps.Schedule(copied, "nowhere"),
        lambda: ps.Schedule(copied).tile("k", sizes=(3,)),
        lambda: ps.Schedule.from_json(copied, "{"),
        lambda: ps.counts(copied, line=10**6),
        lambda: ps.Options(tile_sizes=()),
        lambda: ps.order(""),
        lambda: ps.from_c("no_such_file.c"),
        lambda: ps.from_yaml("no: tree"),
        lambda: relu(m=0, n=1),
        lambda: ps.sqrt("x"),
        lambda: ps.compute((ps.var("n"),), lambda i: ps.select(i, i, i), "A"),
    ],
)
def test_the_last_line_is_the_users(refused, monkeypatch):
    monkeypatch.delenv("POLYSCHED_TRACEBACK", raising=False)
    with pytest.raises(ps.PolyschedError) as raised:
        refused()
    assert traceback.extract_tb(raised.value.__traceback__)[-1].filename == __file__
    assert raised.value.__cause__ is None and raised.value.__suppress_context__


def test_all_lines_on_request(monkeypatch):
    monkeypatch.setenv("POLYSCHED_TRACEBACK", "full")
    with pytest.raises(InputError) as raised:
        ps.optimize(5)
    assert "prepare.py" in traceback.extract_tb(raised.value.__traceback__)[-1].filename


def test_what_is_no_refusal_keeps_all_lines(monkeypatch):
    monkeypatch.delenv("POLYSCHED_TRACEBACK", raising=False)

    @entry
    def wrong():
        assert not ps, "an invariant"

    with pytest.raises(AssertionError) as raised:
        wrong()
    assert traceback.extract_tb(raised.value.__traceback__)[-1].name == "wrong"


def test_a_function_of_the_users_that_is_called_keeps_its_line(monkeypatch):
    monkeypatch.delenv("POLYSCHED_TRACEBACK", raising=False)

    def called():
        parse_nest("def f(): pass\ndef g(): pass", "f.py")

    with pytest.raises(InputError) as raised:
        entry(lambda: called())()
    assert traceback.extract_tb(raised.value.__traceback__)[-1].name == "called"


def test_a_script_shows_its_own_lines(tmp_path: Path, monkeypatch):
    monkeypatch.delenv("POLYSCHED_TRACEBACK", raising=False)
    script = tmp_path / "script.py"
    script.write_text("import polysched as ps\n\nps.optimize(5)\n")
    done = subprocess.run([sys.executable, str(script)], capture_output=True, text=True, cwd=Path(__file__).parents[1],
                          env={"PYTHONPATH": str(Path(__file__).parents[1])}, check=False)  # fmt: skip
    assert done.stderr.splitlines()[1].endswith('script.py", line 3, in <module>')
    assert done.stderr.count("File ") == 1


def test_help_says_what_an_edit_gives():
    assert len(EDITS) >= 30
    for edit in (getattr(ps.Schedule, name) for name in EDITS):
        assert inspect.signature(edit).return_annotation == "Schedule"
        assert typing.get_type_hints(edit)["return"] is ps.Schedule
    split = str(inspect.signature(ps.Schedule.split))
    assert "(self, name: str, size: int, tail: Literal['cut', 'guard', 'exact'] = 'cut'," in split
    assert split.endswith("-> 'Schedule'")


def long_sum(terms: int) -> str:
    value = " + ".join(f"b[i] * {k}.5" for k in range(terms))
    return f"def f(a: f64['n'], b: f64['n'], n: size):\n    for i in range(n):\n        a[i] = {value}\n"


def test_a_sum_of_250_terms_is_no_deep_recursion():
    done = ps.optimize(parse_nest(long_sum(250), "f.py"))
    assert done.fallbacks == {}
    done.verify(n=3)


def test_so_is_one_of_a_c_file(tmp_path):
    file = tmp_path / "long.c"
    terms = " + ".join(f"b[i] * {k}.5" for k in range(250))
    file.write_text(f"""void f(int n, double a[n], double b[n])
    {{
    #pragma scop
        for (int i = 0; i < n; i++)
            a[i] = {terms};
    #pragma endscop
    }}""")
    (nest,) = ps.from_c(file)
    done = ps.optimize(nest)
    assert done.fallbacks == {}
    done.verify(n=3)


def test_what_is_too_deep_even_so_is_refused(monkeypatch):
    function = parse_nest(long_sum(250), "f.py")
    monkeypatch.setattr("polysched.support.entry._FRAMES", 0)
    with pytest.raises(ps.InputError, match="this is nested too deeply\nhint: write long expressions as several"):
        ps.optimize(function)


def test_recursion_of_the_users_own_function_is_its_own_error():
    def endless(n: int) -> int:
        return endless(n + 1)

    with pytest.raises(RecursionError):
        entry(endless)(0)


def test_the_limit_is_as_it_was_however_threads_overlap():
    usual, inside, over = sys.getrecursionlimit(), threading.Event(), threading.Event()

    def waits() -> None:
        inside.set()
        over.wait(60)

    thread = threading.Thread(target=entry(waits))
    thread.start()
    inside.wait()
    entry(lambda: None)()
    assert sys.getrecursionlimit() > usual
    over.set()
    thread.join()
    assert sys.getrecursionlimit() == usual
