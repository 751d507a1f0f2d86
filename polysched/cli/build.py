"""`polysched build MODEL.onnx -o DIR`: a network as one C file, with its weights, a header and an example."""

from __future__ import annotations

import argparse
import re

from polysched.cli.knobs import Commands
from polysched.networks.network import network


def add(commands: Commands) -> None:
    parser = commands.add_parser("build", help="compile an ONNX model to one C file with its weights")
    parser.add_argument("model", metavar="MODEL.onnx")
    parser.add_argument("-o", dest="out", metavar="DIR", required=True, help="the folder to write to")
    shape = "the extents of an input, where the model leaves some open, as in x=1,3,224,224; may be repeated"
    parser.add_argument("--shape", type=_shape, action="append", default=[], metavar="NAME=SIZES", help=shape)
    parser.add_argument("--report", action="store_true", help="print the kernels, and what memory is used")
    parser.set_defaults(run=run)


def _shape(text: str) -> tuple[str, tuple[int, ...]]:
    found = re.fullmatch(r"(.+)=(\d+(?:,\d+)*)", text)
    if found is None:
        raise argparse.ArgumentTypeError(f"'{text}' is no shape, as in x=1,3,224,224")
    return found[1], tuple(int(extent) for extent in found[2].split(","))


def run(given: argparse.Namespace) -> int:
    """Writes the folder, and says how to build what is in it."""
    net = network(given.model, dict(given.shape))
    folder = net.save(given.out)
    if given.report:
        print(net.report())
    print(f"written to {folder}: make -C {folder}, then run ./example there")
    return 0
