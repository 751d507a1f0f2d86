"""`polysched calibrate`: measures this machine, for `Compiled.predict`."""

from __future__ import annotations

import argparse

from polysched.cli.knobs import Commands
from polysched.config.machine import machine
from polysched.runtime.calibrate import calibrate


def add(commands: Commands) -> None:
    parser = commands.add_parser("calibrate", help="measure this machine's clock and caches, for predictions of times")
    parser.set_defaults(run=run)


def run(_: argparse.Namespace) -> int:
    """The rates, which are kept in the cache directory."""
    found = calibrate(machine())
    print(f"a core runs at {found.megahertz} MHz")
    rates = {"the second cache": found.l2_rate, "the third cache": found.l3_rate, "memory": found.memory_rate}
    for where, rate in rates.items():
        print(f"{rate:4} GB/s between it and {where}")
    return 0
