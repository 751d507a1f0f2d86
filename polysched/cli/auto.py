"""`polysched opt --auto FILE.c ... -o DIR`: whole files, without pragmas, and a report of each of their loops."""

from __future__ import annotations

import argparse
import shlex
import sys
from collections.abc import Sequence
from pathlib import Path

from polysched.cli.knobs import options_of
from polysched.errors import InputError, PolyschedError
from polysched.frontend.c.file.source import read
from polysched.opt.auto.command import Command
from polysched.opt.auto.report import report_json, report_text
from polysched.opt.auto.whole import Build, Whole, rewrite_whole
from polysched.opt.output import write


def run(given: argparse.Namespace) -> int:
    """2 if a file cannot be read; the others are written nevertheless."""
    files, folder = [given.file, *given.more], _folder(given)
    command = Command(("gcc", *(f"-I{each}" for each in given.include), *(f"-D{each}" for each in given.define),
                       *shlex.split(given.cflags)))  # fmt: skip
    if command.left:
        raise InputError(f"{command.left} gives C another meaning than the one that files are read with")
    found: dict[str, Whole | str] = {}
    for file in files:
        try:
            found[file] = rewrite_whole(_build(file, command, given), options_of(given))
        except PolyschedError as error:
            found[file] = str(error)
    for file, whole in found.items():
        if isinstance(whole, Whole):
            write(folder / Path(file).name, whole.text)
        else:
            print(whole, file=sys.stderr)
    write(folder / "report.txt", report_text(found).encode())
    write(folder / "report.json", report_json(found).encode())
    if given.verbose:
        print(report_text(found), end="", file=sys.stderr)
    return 2 if any(isinstance(whole, str) for whole in found.values()) else 0


def _build(file: str, command: Command, given: argparse.Namespace) -> Build:
    obeys = command.has("-fopenmp")
    flags = (*command.flags, *(("-D_OPENMP=201511",) if obeys else ()))
    return Build(path=file, data=read(file), flags=flags, pure=tuple(given.pure), obeys_openmp=obeys)


def _folder(given: argparse.Namespace) -> Path:
    """Where the files go; InputError if that would change a source, or make one of two."""
    files: Sequence[str] = [given.file, *given.more]
    if given.out is None:
        raise InputError("--auto writes into a folder", hint="name it with -o DIR")
    if given.target != "c" or given.schedule:
        raise InputError("--auto makes C by the compiler's own schedules", hint="leave out --target and --schedule")
    folder = Path(given.out)
    names = [Path(file).name for file in files]
    if twice := next((name for name in names if names.count(name) > 1), None):
        raise InputError(f"two files are called {twice}", hint="write them to two folders")
    for file in files:
        there = folder / Path(file).name
        if there.exists() and Path(file).exists() and there.samefile(file):
            raise InputError(f"-o names the folder of '{file}' itself", hint="write to another folder")
    try:
        folder.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise InputError(f"'{folder}' cannot be made: {error.strerror}") from error
    return folder
