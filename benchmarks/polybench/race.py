"""Races of the generated OpenMP, decided exactly: `python -m benchmarks.polybench --race`.

    found = find_race(source, fn, arguments)
    found.race        "A[3] is written by iteration 2, and read by iteration 3, of parallel region 1", or ""
    found.regions     parallel regions that ran; `widest` is the most iterations that one of them had

The unchanged text is compiled with OpenMP and gcc's thread sanitizer, but race.c stands in for the libraries of both:
it runs every iteration of a parallel loop as a thread of its own, one after another, and sees each access. libtsan
itself reports races where there are none, as it does not know libgomp's barriers, and misses some, as threads happen
to run.
"""

from __future__ import annotations

import ctypes
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np

import polysched as ps
from benchmarks.polybench import KERNELS
from benchmarks.polybench.data import initial_data
from polysched.codegen.emit.source import Source
from polysched.errors import PolyschedError
from polysched.ir.nodes import Function
from polysched.runtime.arguments import Binder
from polysched.runtime.cpu import c_function, open_library
from polysched.runtime.toolchain import EXACT, compile_shared
from polysched.runtime.views import View

SMALL_TILES = (3, 5)
_STAND_IN = Path(__file__).with_name("race.c")
_FLAGS = ("-std=gnu11", "-O1", "-fopenmp", "-fsanitize=thread", "-nodefaultlibs", "-Wl,-Bsymbolic,--as-needed", *EXACT)


@dataclass(frozen=True, kw_only=True)
class Report:
    """What one run showed."""

    race: str  # the first one, or ""
    regions: int  # parallel regions that ran
    widest: int  # iterations of the longest parallel loop
    accesses: int  # to memory, in parallel regions


class _Found(ctypes.Structure):
    _fields_ = [
        *((name, ctypes.c_int64) for name in ("regions", "widest", "accesses", "too_wide", "found")),
        ("address", ctypes.c_size_t),
        *((name, ctypes.c_int64) for name in ("one", "other", "wrote", "where")),
    ]


def find_races(names: Iterable[str], options: ps.Options) -> bool:
    """A line for each kernel, at small sizes with small tiles, so that loops over tiles have many iterations."""
    options = replace(options, tile_sizes=SMALL_TILES)
    print(f"{'kernel':15}{'regions':>9}{'widest':>8}{'accesses':>10}   races")
    right = True
    for name in names:
        try:
            done = ps.optimize(KERNELS[name].nest, options=options)
            found = find_race(done.source, done.nest, initial_data(name, KERNELS[name].sizes["small"]))
        except PolyschedError as error:
            print(f"{name:15}not checked: {error}", flush=True)
            right = False
            continue
        right &= not found.race
        race = found.race or ("none" if found.regions else "none, as no parallel loop has run")
        print(f"{name:15}{found.regions:9}{found.widest:8}{found.accesses:10}   {race}", flush=True)
    return right


def find_race(source: Source, fn: Function, arguments: Mapping[str, Any]) -> Report:
    """Runs `source`, the C text of `fn`, on the arguments in place; the first race of its parallel loops, if any.

    PolyschedError if the text uses OpenMP in a way that cannot be checked here.
    """
    text = f'{_STAND_IN.read_text()}#line 1 "{source.entry}.c"\n{source.text}'
    path = compile_shared(text, source.entry, flags=_FLAGS)
    if b"libgomp.so" in path.read_bytes():  # linked as needed: for what race.c does not define
        raise PolyschedError(f"{source.entry} uses more of OpenMP than race.c stands in for, such as barriers")
    library = open_library(str(path))
    library.race_start()
    bound = Binder(fn)(arguments)
    c_function(library, source, fn)(*bound.in_order)
    found = _Found.in_dll(library, "race_report")
    if found.too_wide:
        raise PolyschedError(f"{source.entry}: a parallel loop has more iterations than race.c has threads")
    race = ""
    if found.found:
        did, does = ("written", "accessed") if found.wrote else ("read", "written")
        place = _element(found.address, bound.arrays)
        region = f"of parallel region {found.where}"
        race = f"{place} is {did} by iteration {found.one}, and {does} by iteration {found.other}, {region}"
    return Report(race=race, regions=found.regions, widest=found.widest, accesses=found.accesses)


def _element(address: int, arrays: Mapping[str, View]) -> str:
    """The element of an argument that lies there."""
    for name, array in arrays.items():
        offset = address - array.at
        if 0 <= offset < array.form.nbytes:
            index = np.unravel_index(offset // array.form.dtype.itemsize, array.form.shape)
            return f"{name}[{', '.join(str(int(position)) for position in index)}]"
    return "a temporary"
