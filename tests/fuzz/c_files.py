"""A C file and what `polysched opt` makes of it compute the same bits: both compiled by gcc, with threads."""

from __future__ import annotations

import ctypes
import random
import subprocess
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any
from unittest.mock import patch

import numpy as np

from polysched.codegen.parallel import threads
from polysched.config.options import Options
from polysched.errors import BudgetExceeded, InputError
from polysched.frontend.c.read import read_c
from polysched.opt import rewrite
from tests.fuzz.c_programs import EXTENT, FLOATS, Program, random_c
from tests.fuzz.outcome import Refused

_FEW = 4  # operations that threads start for: with none, some seeds start them millions of times for nothing
_THREADS = {"OPERATIONS": _FEW, "SIMD_OPERATIONS": _FEW, "STREAM_OPERATIONS": _FEW}
SIZES = (0, 1, 2, 3, 5, 8, 17, 33)
_FLAGS = ("-w", "-shared", "-fPIC", "-ffp-contract=off", "-fopenmp")
_DTYPES = {
    "double": np.float64, "float": np.float32, "int": np.int32, "long": np.int64, "long long": np.int64,
    "unsigned": np.uint32, "size_t": np.uint64, "short": np.int16, "unsigned short": np.uint16,
    "unsigned char": np.uint8, "signed char": np.int8,
}  # fmt: skip


def check_c(seed: int) -> None:
    """AssertionError where the results of one random file differ; Refused if the region is."""
    rng = random.Random(seed)
    program = random_c(rng)
    text = program.text
    with tempfile.TemporaryDirectory() as folder:
        source = Path(folder, "source.c")
        source.write_text(text)
        try:
            regions = read_c(source)
            with patch.multiple(threads, **_THREADS):
                out = rewrite(text.encode(), regions, options=_options(rng), always=True)
        except (InputError, BudgetExceeded) as error:  # either way the region keeps its text
            raise Refused(str(error).splitlines()[0]) from error
        if out.regions[0].is_kept:
            raise Refused(out.regions[0].summary)
        source.with_name("out.c").write_bytes(out.text)
        one, other = _library(source, "-O0"), _library(source.with_name("out.c"), "-O2")
        for arguments in _arguments(program, rng):
            expected, actual = ([_copy(value) for value in arguments] for _ in range(2))
            one.kernel(*map(_passed, expected))
            other.kernel(*map(_passed, actual))
            for wanted, found in zip(expected, actual, strict=True):
                if isinstance(wanted, np.ndarray):
                    np.testing.assert_array_equal(found, wanted, err_msg=f"n, m = {arguments[:2]}\n{text}", strict=True)


def _options(rng: random.Random) -> Options:
    return Options(
        tile_sizes=rng.choice((None, None, (2,), (3, 4), (16, 32))),
        fusion=rng.choice(("smart", "smart", "max", "none")),
        wavefront=rng.random() < 0.8,
    )


def _library(path: Path, level: str) -> ctypes.CDLL:
    library = path.with_suffix(".so")
    subprocess.run(["gcc", level, *_FLAGS, str(path), "-o", str(library), "-lm"], check=True, capture_output=True)
    return ctypes.CDLL(str(library))


def _arguments(program: Program, rng: random.Random) -> Iterator[list[Any]]:
    """Of a call for each size."""
    size = ctypes.c_int if program.size_type == "int" else ctypes.c_long
    storage = [(array.type, EXTENT**array.rank) for array in program.arrays]
    storage += [(program.scalar, 1)] if program.scalar else []
    data = np.random.default_rng(rng.getrandbits(32))
    for n in SIZES:
        m = rng.choice((n, n, max(0, n - 1), n // 2, min(33, n + 2)))
        yield [size(n), size(m), *(_values(data, kind, count) for kind, count in storage)]


def _values(data: np.random.Generator, kind: str, count: int) -> np.ndarray:
    if kind in FLOATS:
        return data.integers(-64, 64, count).astype(_DTYPES[kind]) / 8
    low = 0 if kind.startswith(("unsigned", "size_t")) else -50
    return data.integers(low, 100, count).astype(_DTYPES[kind])


def _copy(value: Any) -> Any:
    return value.copy() if isinstance(value, np.ndarray) else value


def _passed(value: Any) -> Any:
    return value.ctypes.data_as(ctypes.c_void_p) if isinstance(value, np.ndarray) else value
