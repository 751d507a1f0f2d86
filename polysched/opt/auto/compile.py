"""A compiler's command run with better sources: `polysched cc -- gcc -O3 -c cg.c -o cg.o`.

First it runs as it is, which says what is wrong with the sources, writes what it writes, and leaves an object in any
case. Where a nest of a source gains, it runs again on the rewritten source, without warnings; if that should fail, it
runs a third time, as at first.
"""

from __future__ import annotations

import os
import subprocess
import tempfile
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from polysched.config.machine import Machine, machine
from polysched.config.options import Options
from polysched.errors import InputError, PolyschedError
from polysched.opt.auto.command import Command
from polysched.opt.auto.moved import moved, named_as_before
from polysched.opt.auto.whole import Build, Whole, rewrite_whole

_THREADS = "POLYSCHED_THREADS"  # in place of _OPENMP, by which sources may ask for more than kernels
Say = Callable[[str], None]


@dataclass(frozen=True, kw_only=True)
class Ways:
    """What the user wants of `polysched cc`."""

    parallel: bool = False  # kernels run on threads, though the command says nothing of OpenMP
    keep: Path | None = None  # a folder for the rewritten sources
    pure: tuple[str, ...] = ()


def compile_with(command: Command, ways: Ways, say: Say) -> int:
    """The status of the command; `say` is told what became of each source."""
    places = _places_kept(command.sources, ways.keep) if ways.keep else {}
    adds_threads = ways.parallel and "_OPENMP" not in command.macros
    linking = ["-fopenmp"] if adds_threads and command.links and not command.sources else []
    if status := subprocess.run([*command.words, *linking]).returncode:
        return status
    if not command.sources:
        return 0
    if why := _left(command):
        say(f"{', '.join(command.sources)}: compiled as it is: {why}")
        return 0
    with tempfile.TemporaryDirectory(prefix="polysched-") as folder:
        wholes = {source: _rewritten(source, command, ways, say) for source in command.sources}
        if not any(whole and whole.is_changed for whole in wholes.values()):
            return 0
        others = {}
        for k, (source, whole) in enumerate(wholes.items()):
            if whole is None and adds_threads:  # its directives would count
                say(f"{', '.join(command.sources)}: compiled as they are: {source} is")
                return 0
            if whole is not None and whole.text != Path(source).read_bytes():
                others[source] = _written(whole.text, Path(folder, str(k), Path(source).name))
                if ways.keep:
                    _written(whole.text, places[source])
        more = [*_more(command, ways), *named_as_before(map(Path, others))]
        again = subprocess.run(command.with_sources(others, more), capture_output=True, text=True, errors="replace")
        if again.returncode:
            say(f"{', '.join(others)}: compiled as it is: its new text is refused: {again.stderr.strip()}")
            return subprocess.run(command.words, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL).returncode
    return 0


def _left(command: Command) -> str:
    if command.left:
        return f"{command.left} is an option that it is not read with"
    if not command.macros:
        return "its compiler does not tell what it defines"
    if "__OPTIMIZE__" not in command.macros:
        return "it is not to be optimized"
    if command.macros.get("__SIZEOF_LONG__") != "8" or command.macros.get("__SIZEOF_POINTER__") != "8":
        return "it is for a machine whose addresses have not 64 bits"
    return ""


def _more(command: Command, ways: Ways) -> list[str]:
    """Options for the rewritten sources."""
    if "_OPENMP" in command.macros:
        return ["-w"]
    if ways.parallel:
        return ["-w", "-fopenmp", "-U_OPENMP", f"-D{_THREADS}"]
    return ["-w", "-fopenmp-simd"]


def _rewritten(source: str, command: Command, ways: Ways, say: Say) -> Whole | None:
    """None where it is left as it is, which is said."""
    obeys = "_OPENMP" in command.macros
    try:
        data = Path(source).read_bytes()
        build = Build(
            path=source,
            data=data,
            flags=(*command.flags, *((f"-D_OPENMP={command.macros['_OPENMP']}",) if obeys else ())),
            pure=ways.pure,
            obeys_openmp=obeys,
            keeps_directives=obeys or (command.has("-fopenmp-simd") and not ways.parallel),
            openmp=_THREADS if ways.parallel and not obeys else "_OPENMP",
            numbers_lines=True,
        )
        whole = rewrite_whole(build, _options(command, parallel=obeys or ways.parallel))
        text = whole.text if whole.text == data else moved(whole.text, Path(source))
    except (PolyschedError, OSError) as error:
        say(f"{source}: compiled as it is: {error}")
        return None
    for verdict in whole.verdicts:
        say(f"{source}:{verdict}")
    return replace(whole, text=text)


def _options(command: Command, *, parallel: bool) -> Options:
    macros = command.macros
    is_fast = "__FAST_MATH__" in macros
    return Options(parallel=parallel, fast_math=is_fast, reorder_reductions=is_fast, machine=_machine(macros))


def _machine(macros: dict[str, str]) -> Machine:
    """This one with the vectors that the options allow."""
    here = machine()
    if "__AVX512F__" in macros:
        return here
    instructions = tuple(each for each in here.instructions if "__AVX512VNNI__" in macros)
    vector_bytes = 32 if "__AVX__" in macros else 16
    return replace(
        here, vector_bytes=min(here.vector_bytes, vector_bytes), vector_registers=min(here.vector_registers, 16),
        instructions=instructions,
    )  # fmt: skip


def _places_kept(sources: Sequence[str], keep: Path) -> dict[str, Path]:
    """Where the new texts go: each below a folder that is called as its own; InputError if that would change one."""
    found = {}
    for source in sources:
        own = Path(os.path.normpath(source))
        own = own if not own.is_absolute() and ".." not in own.parts else Path(source).resolve()
        found[source] = keep / own.relative_to(own.anchor)
        if found[source].exists() and Path(source).exists() and found[source].samefile(source):
            raise InputError(f"--keep names the folder of '{source}' itself", hint="keep new sources in another folder")
    return found


def _written(text: bytes, path: Path) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(text)
    return path
