"""Makes of what race_check.cpp holds a report in words of the kernels' text: names, elements, lines."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from functools import cached_property
from math import prod
from pathlib import Path
from typing import Any

import numpy as np

from polysched.runtime.emulated.debug_info import lines
from polysched.runtime.emulated.declared import DeclaredArray
from polysched.runtime.emulated.findings import CheckReport, Finding, Index, Place, Traffic
from polysched.runtime.emulated.race_check import DOES, KINDS, STOPPED, RaceCheck, RawFinding, RawPlace


@dataclass(frozen=True)
class Reading:
    """What is needed to read it after a run."""

    checker: RaceCheck
    library: Path
    base: int  # where the library is loaded
    texts: Mapping[str, str]  # of the kernels, by the names of files; the first is the one that is checked
    names: Mapping[int, str]  # of regions
    declared: Mapping[int, DeclaredArray]  # of those whose declaration was found
    arrays: Mapping[str, np.ndarray]  # arguments

    def report(self, fault: str) -> CheckReport:
        """All of it; `fault` is what ended the run, "" if nothing did."""
        findings = [*_without_repeats(self.finding(raw) for raw in self.checker.findings())]
        kernel, _, what = fault.partition(": ")
        if fault and not what.startswith(STOPPED):
            findings.append(Finding(kind="fault", kernel=kernel, what=what))
        threads = sum(prod(grid) * prod(block) for _, grid, block in self.launches)
        accesses, doubts = self.checker.accesses(), tuple(map(self.finding, self.checker.doubts()))
        traffic = tuple(self.traffic())
        return CheckReport(findings=tuple(findings), traffic=traffic, threads=threads, accesses=accesses, doubts=doubts)

    @cached_property
    def launches(self) -> list[tuple[str, tuple[int, ...], tuple[int, ...]]]:
        """Kernel, grid, block of each."""
        return [(raw.kernel.decode(), tuple(raw.grid), tuple(raw.block)) for raw in self.checker.launches()]

    @cached_property
    def lines(self) -> dict[str, list[str]]:
        """Those of each file; the one that is checked is ""."""
        return {"" if k == 0 else name: text.splitlines() for k, (name, text) in enumerate(self.texts.items())}

    @cached_property
    def line_of(self) -> dict[int, tuple[str, int]]:
        """File and line by the address that an access returns to; the instruction before it is that of the line."""
        offsets = [site.pc - 1 - self.base for site in self.checker.sites()]
        main = next(iter(self.texts))
        found = lines(self.library, offsets, self.texts)
        return {offset + self.base + 1: ("" if file == main else file, line) for offset, (file, line) in found.items()}

    def finding(self, raw: RawFinding) -> Finding:
        kind, why = KINDS[raw.kind]
        places = [self.place(raw.one, raw.line)] + ([self.place(raw.other)] if raw.other.pc else [])
        what = raw.text.decode() or self.element(raw, kind)
        return Finding(
            kind=kind,
            kernel=self.launches[raw.one.launch][0],
            what=f"{what}, {why}" if why else what,
            places=tuple(places),
            array=self.names.get(raw.region, ""),
            count=raw.count,
        )

    def place(self, raw: RawPlace, line: int = 0) -> Place:
        _, grid, block = self.launches[raw.launch]
        file, known = self.line_of.get(raw.pc, ("", 0))
        line = line or known
        return Place(
            thread=_along(raw.thread, block),
            block=_along(raw.block, grid),
            does=DOES[raw.operation],
            line=line,
            text=self.line(file, line),
            file=file,
        )

    def line(self, file: str, number: int) -> str:
        lines = self.lines[file]
        return lines[number - 1].strip() if 0 < number <= len(lines) else ""

    def element(self, raw: RawFinding, kind: str) -> str:
        """The array, the element if its type is known, else the bytes; and how large it is, if that matters."""
        if raw.region < 0:
            return f"{raw.size} bytes at {raw.offset:#x}" if raw.offset else f"{raw.size} bytes"
        name, extent = self.name(raw.region), self.checker.region(raw.region).size
        array = self.arrays.get(name)
        shape, itemsize = (array.shape, array.itemsize) if array is not None else self.shape(raw.region, extent)
        if kind == "misaligned":
            return f"{name}, {raw.size} bytes at byte {raw.offset}, which is no multiple of {raw.size}"
        if kind == "out of bounds":
            index, rest = divmod(raw.offset, itemsize)
            where = f"[{index}]" if itemsize > 1 and not rest else f" at byte {raw.offset}"
            is_typed = itemsize > 1 or array is not None
            has = f"{' * '.join(map(str, shape)) or 1} elements" if is_typed else f"{extent} bytes"
            declared = self.declared.get(raw.region)
            hint = _NO_DYNAMIC if not extent and declared and declared.is_dynamic else ""
            return f"{name}{where}, but it has {has}{hint}"
        if itemsize > 1 and shape and raw.offset % itemsize == 0:
            index = [int(k) for k in np.unravel_index(raw.offset // itemsize, shape)]
            return f"{name}{''.join(f'[{k}]' for k in index)}"
        return f"{name}, bytes {raw.offset} to {raw.offset + raw.size - 1} of {extent}"

    def name(self, region: int) -> str:
        known = self.checker.region(region)
        return self.names.get(region) or self.names.get(known.like) or f"a temporary of {known.size} bytes"

    def shape(self, region: int, extent: int) -> tuple[tuple[int, ...], int]:
        """The shape that the text declares an array with, and the bytes of its elements; (extent,) and 1 if unknown."""
        array = self.declared.get(region)
        return (array and array.shape(extent)) or ((extent,), 1)

    def traffic(self) -> list[Traffic]:
        """By kernel and line; several accesses of a line to one array count as one."""
        together: dict[tuple[Any, ...], np.ndarray] = {}
        for site in self.checker.sites():
            if not site.requests or site.region < 0:
                continue
            shared = self.checker.region(site.region).shared
            place, name = self.line_of.get(site.pc, ("", 0)), self.name(site.region)
            key = (site.launch, place, name, DOES[site.operation], shared, site.size)
            costs = (site.cycles, site.least_cycles) if shared else (site.sectors, site.least_sectors)
            together[key] = together.get(key, np.zeros(3, int)) + np.array([site.requests, *costs])
        return [
            Traffic(
                kernel=self.launches[launch][0],
                file=file,
                line=line,
                text=self.line(file, line),
                array=name,
                does=does,
                shared=shared,
                size=size,
                requests=int(requests),
                cost=int(cost),
                least=int(least),
            )
            for (launch, (file, line), name, does, shared, size), (requests, cost, least) in sorted(together.items())
        ]


_NO_DYNAMIC = ": the launch gives no dynamic shared memory; give dynamic_shared_bytes, or --dynamic-shared BYTES"


def _without_repeats(findings: Iterable[Finding]) -> Iterable[Finding]:
    """One for each two lines and array: the compiler may have made several instructions of a line."""
    together: dict[tuple[Any, ...], Finding] = {}
    for it in findings:
        lines = tuple(sorted((place.file, place.line, place.does) for place in it.places))
        what = it.what if not it.array else ""
        known = together.setdefault((it.kind, it.kernel, it.array, what, lines), it)
        if known is not it:
            together[it.kind, it.kernel, it.array, what, lines] = replace(known, count=known.count + it.count)
    return together.values()


def _along(linear: int, extents: tuple[int, ...]) -> Index:
    x, y, _ = extents
    return linear % x, linear // x % y, linear // x // y
