"""Random affine loops, written as C in many styles: the nest that is read computes what gcc's code does."""

from __future__ import annotations

import random

import pytest
from frontend.c_programs import Programs

from polysched.ir.interp import interpret

COUNT = 60  # functions, which are compiled as one text
OPTIMISED = 6  # of them go through the whole pipeline
ROWS, COLUMNS = 12, 14
ORDER = ("n", "m", "A", "B", "s")


def random_function(name: str, rng: random.Random) -> str:
    """Loops of depth up to 3 over A[12][14], int, and the vector B of 40; n is at most 8."""
    body = "\n".join(_statement(rng, (), 0) for _ in range(rng.randint(1, 3)))
    text = f"void {name}(int n, unsigned m, int A[{ROWS}][{COLUMNS}], int *restrict B, int s[1])\n{{\n    int t;\n"
    return f"{text}#pragma scop\n{body}\n#pragma endscop\n}}\n"


def _statement(rng: random.Random, loops: tuple[str, ...], depth: int) -> str:
    kind = rng.choice(("loop", "loop", "store", "if", "block") if depth < 3 else ("store",))
    indent = "    " * (depth + 1)
    if kind == "loop" and len(loops) < 3:
        return f"{indent}{_head(rng, loops)}\n{_statement(rng, (*loops, 'ijk'[len(loops)]), depth + 1)}"
    if kind == "if" and loops:
        other = f"\n{indent}else\n{_statement(rng, loops, depth + 1)}" if rng.random() < 0.5 else ""
        return f"{indent}if ({_condition(rng, loops)}) {{\n{_statement(rng, loops, depth + 1)}\n{indent}}}{other}"
    if kind == "block":
        inner = "\n".join(_statement(rng, loops, depth + 1) for _ in range(2))
        return f"{indent}{{\n{inner}\n{indent}}}"
    target, value = _element(rng, loops), _value(rng, loops)
    return indent + rng.choice(
        (
            f"{target} = {value};",
            f"{target} {rng.choice(('+=', '-=', '*=', '^=', '|='))} {value};",
            f"{target}{rng.choice(('++', '--'))};",
            f"{{ int v = {value}; {target} = v + {_value(rng, loops)}; }}",
            f"{{ t = {value}; {target} = t; s[0] += t; }}",
        )
    )


def _head(rng: random.Random, loops: tuple[str, ...]) -> str:
    """A loop within 0 .. 8."""
    name = "ijk"[len(loops)]
    low = rng.choice(("0", "1", "n / 2", *loops))
    return rng.choice(
        (
            f"for (int {name} = {low}; {name} < n; {name}++)",
            f"for (int {name} = {low}; {name} <= n - 1; {name} += {rng.randint(1, 3)})",
            f"for (int {name} = n - 1; {name} >= {low}; {name}--)",
            f"for (int {name} = n; {name} > {low}; {name} = {name} - {rng.randint(1, 2)})",
            f"for (unsigned {name} = 0; {name} < m; ++{name})",
            f"for (long {name} = {low}; {name} < n && {name} < 5; {name}++)",
            f"for (int {name} = 0; {name} != n; {name}++)",
        )
    )


def _subscript(rng: random.Random, loops: tuple[str, ...]) -> str:
    """From 0 to 10."""
    if not loops:
        return str(rng.randint(0, 9))
    name = rng.choice(loops)
    return rng.choice((name, f"{name} + {rng.randint(0, 2)}", f"8 - {name}", f"({name} >> 1)", f"{name} % 3"))


def _element(rng: random.Random, loops: tuple[str, ...]) -> str:
    if rng.random() < 0.3:
        return f"B[{_subscript(rng, loops)} + 2 * ({_subscript(rng, loops)})]"
    return f"A[{_subscript(rng, loops)}][{_subscript(rng, loops)}]"


def _condition(rng: random.Random, loops: tuple[str, ...]) -> str:
    name = rng.choice(loops)
    return rng.choice(
        (
            f"{name} < {rng.randint(1, 5)}",
            f"{name} % 2 == {rng.randint(0, 1)} || {rng.choice(loops)} > 3",
            f"!({name} == n / 2) && {rng.choice(loops)} <= {name}",
            f"{_element(rng, loops)} > 0",
            f"{name} & 1",
        )
    )


def _value(rng: random.Random, loops: tuple[str, ...], depth: int = 0) -> str:
    if depth == 2 or rng.random() < 0.4:
        return rng.choice((_element(rng, loops), str(rng.randint(-5, 9)), "(int)m", *loops))
    one, other = _value(rng, loops, depth + 1), _value(rng, loops, depth + 1)
    return rng.choice(
        (
            f"({one} {rng.choice('+-*&|^')} {other})",
            f"((unsigned){one} / 7u)",
            f"(({one}) % 5)",
            f"({one} < {other} ? {one} : {other})",
            f"((signed char)({one}) << 2)",
            f"-({one})",
        )
    )


@pytest.fixture(scope="module")
def programs(tmp_path_factory: pytest.TempPathFactory) -> Programs:
    text = "\n".join(random_function(f"f{seed}", random.Random(seed)) for seed in range(COUNT))
    return Programs(text, tmp_path_factory.mktemp("random"))


@pytest.mark.parametrize("seed", range(COUNT))
def test_interpreted_as_compiled(programs: Programs, seed: int) -> None:
    function = programs.regions[f"f{seed}"].function
    for n in (0, 1, 7):
        sizes = {name: n for name in ("n", "m") if name in function.params}
        programs.check(function.name, sizes, run=lambda **given: interpret(function, given), order=ORDER)


@pytest.mark.parametrize("seed", range(OPTIMISED))
def test_optimised_as_compiled(programs: Programs, seed: int) -> None:
    function = programs.regions[f"f{seed}"].function
    programs.check(function.name, {name: 7 for name in ("n", "m") if name in function.params}, order=ORDER)
