"""What every command that compiles takes, and the options of the library that it means."""

from __future__ import annotations

import argparse
import re
from dataclasses import fields
from typing import TypeAlias

from polysched.config.options import Options, Target
from polysched.config.target import TARGETS

Commands: TypeAlias = "argparse._SubParsersAction[argparse.ArgumentParser]"


def knobs(target: Target = "c") -> argparse.ArgumentParser:
    """What every command that compiles takes; `target` is the one without --target."""
    parser = argparse.ArgumentParser(add_help=False)
    parser.add_argument("--target", choices=list(TARGETS), default=target, help="print kernels in; c has OpenMP")
    c = parser.add_argument_group("reading C")
    c.add_argument("-I", dest="include", action="append", default=[], metavar="DIR", help="a folder of headers")
    c.add_argument("-D", dest="define", action="append", default=[], metavar="NAME[=VALUE]", help="define a macro")
    c.add_argument("--pure", action="append", default=[], metavar="NAME", help="a function without side effects")
    how = parser.add_argument_group("compiling")
    default = Options()
    how.add_argument("--scheduler", choices=["pluto", "isl", "source"], default=default.scheduler)
    how.add_argument("--fusion", choices=["smart", "max", "none"], default=default.fusion, help="which loops to fuse")
    how.add_argument("--tensor", choices=["off", "exact", "fast"], default=default.tensor, help="instructions of GPUs")
    taken = "schedules that `polysched tune` has found here: where there are any, not at all, or nothing else"
    how.add_argument("--tuned", choices=["use", "ignore", "require"], default=default.tuned, help=taken)
    how.add_argument("--tile-sizes", type=_tile_sizes, metavar="SIZES", help="as in 32,64: the last is for SIMD loops")
    for name, meaning in _SWITCHES.items():
        how.add_argument(f"--no-{name}", dest=name.replace("-", "_"), action="store_false", help=meaning)
    for name, meaning in _REQUESTS.items():
        how.add_argument(f"--{name}", action="store_true", help=meaning)
    return parser


_SWITCHES = {
    "tile": "no tiles",
    "wavefront": "no wavefronts of tiles where no loop is parallel",
    "diamond": "tiles of stencils are no diamonds",
    "register-tiles": "no blocks of elements in registers",
    "parallel": "no threads",
    "vector": "no SIMD",
    "shared-memory": "on GPUs, no copies in shared memory",
    "contract-floats": "round a * b + c of floats twice, as the source does without contraction",
}
_REQUESTS = {
    "reorder-reductions": "sums in any order: floats may differ",
    "fast-math": "reassociate floats: they may differ",
    "double-buffer": "on GPUs, copy the next chunk to shared memory while computing with one",
}


def in_flags(text: str) -> str:
    """Advice for the command line: --fast-math for Options(fast_math=True), --no-tile for Options(tile=False)."""
    for value, names, flag in (("True", _REQUESTS, "--"), ("False", _SWITCHES, "--no-")):
        for name in names:
            text = text.replace(f"Options({name.replace('-', '_')}={value})", f"{flag}{name}")
    return text


def _tile_sizes(text: str) -> tuple[int, ...]:
    if not re.fullmatch(r"0*[1-9]\d*(,0*[1-9]\d*)*", text):
        raise argparse.ArgumentTypeError(f"'{text}' is no list of sizes, as in 32,64")
    return tuple(int(size) for size in text.split(","))


def sizes_in(text: str) -> dict[str, int]:
    if not re.fullmatch(r"\w+=\d+(,\w+=\d+)*", text):
        raise argparse.ArgumentTypeError(f"'{text}' gives no sizes, as in n=512,m=64")
    return {name: int(value) for name, value in (pair.split("=") for pair in text.split(","))}


def options_of(given: argparse.Namespace) -> Options:
    return Options(**{each.name: getattr(given, each.name) for each in fields(Options) if each.name in given})
