"""The kinds of random programs: each a check of one seed, that raises what is wrong, or Refused."""

from __future__ import annotations

import random
from collections.abc import Callable, Iterator
from contextlib import contextmanager

import nests
from edits import check_random_edits
from fuzz_products import check_products
from fuzz_tensor import check_tensor
from op_programs import agree, random_program
from scripts import check_script
from test_pipeline import check_random_nest

import polysched as ps
from polysched.errors import BudgetExceeded
from polysched.frontend.op.op import parse_op
from tests.codegen.soundness import case, failure
from tests.fuzz.c_files import check_c
from tests.fuzz.c_macros import check_macros
from tests.fuzz.outcome import Refused

Check = Callable[[int], object]
_SECONDS = 15.0  # to verify a program for a GPU, which takes time to compile, too: larger sizes are left out then


def check_numpy(seed: int) -> None:
    """A function over arrays, interpreted as a nest, against NumPy, and compiled, one time in three for a GPU."""
    rng = random.Random(seed)
    text, arguments, _ = random_program(rng)
    try:
        agree(text, **arguments)
    except OverflowError as error:
        raise Refused("a float that does not fit in the integer that it is cast to is undefined") from error
    target = rng.choice(("c", "c", "c", "c", "cuda", "opencl"))
    _verify(ps.optimize(parse_op(text, "program.py"), target), seconds=_SECONDS)


def check_gpu(seed: int) -> None:
    """A nest as CUDA or OpenCL, in several orders of threads and under the checker of races."""
    rng = random.Random(seed)
    target = rng.choice(("cuda", "cuda", "opencl"))
    _verify(ps.optimize(nests.random_nest(rng), target, options=_options(rng)), seconds=_SECONDS)


def check_verified(seed: int) -> None:
    """A nest as C, with its threads forced on and its parallel loops in other orders."""
    rng = random.Random(seed)
    _verify(ps.optimize(nests.random_nest(rng), options=_options(rng)))


def check_expressions(seed: int) -> None:
    """A pass over expressions, or the whole stage, on a program that need not be affine."""
    why = failure(case(seed))
    assert why is None, why


def check_scripts(seed: int) -> None:
    """The automatic script of a nest, for CUDA one time in four, without one of its edits, or with other sizes."""
    with _in_time():
        is_legal = check_script(seed, "c" if seed % 4 else "cuda")
    if not is_legal:
        raise Refused("there is no script" if is_legal is None else "an edit was refused, by its name")


def check_instructions(seed: int) -> None:
    """A sum of products by tensor instructions, or one for which there is none."""
    if not check_tensor(seed):
        raise Refused("there is no instruction for it")


def _verify(done: ps.Compiled, **limits: float) -> None:
    with _in_time():
        done.verify(**limits)


@contextmanager
def _in_time() -> Iterator[None]:
    """Refused for want of time, by the clock on the wall: other programs run at the same time."""
    try:
        yield
    except BudgetExceeded as error:
        raise Refused("it was not decided or run in time") from error


def check_edits(seed: int) -> None:
    """Random edits; Refused where loops are not found, or run by the interpreter, in time."""
    with _in_time():
        check_random_edits(seed)


def _options(rng: random.Random) -> ps.Options:
    return ps.Options(
        fusion=rng.choice(("smart", "max", "none")),
        tile_sizes=rng.choice((None, (2,), (3, 4))),
        reorder_reductions=rng.random() < 0.3,
    )


KINDS: dict[str, Check] = {
    "c": check_c,
    "macros": check_macros,
    "python": check_random_nest,
    "verified": check_verified,
    "numpy": check_numpy,
    "edits": check_edits,
    "scripts": check_scripts,
    "cuda": check_gpu,
    "products": check_products,
    "tensor": check_instructions,
    "expressions": check_expressions,
}
