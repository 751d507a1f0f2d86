"""What the checker has found in kernels, and what their accesses cost: data, and texts of it.

>>> place = Place(thread=(1, 0, 0), block=(0, 0, 0), does="reads", line=4, text="a[i] = tile[31 - i];")
>>> print(Finding(kind="race", kernel="flip", what="tile[30], without a barrier in between", places=(place,)))
flip: race: tile[30], without a barrier in between
  thread (1, 0, 0) of block (0, 0, 0) reads in line 4: a[i] = tile[31 - i];
"""

from __future__ import annotations

from dataclasses import dataclass

from polysched.support.brief import Brief

Index = tuple[int, int, int]  # along x, y, z


@dataclass(frozen=True, kw_only=True)
class Place:
    """Who did it, and where."""

    thread: Index
    block: Index
    does: str  # "reads", "writes", "updates atomically", "copies asynchronously"; "": something else
    line: int  # of the kernels' text, from 1; 0: unknown
    text: str  # that line
    file: str = ""  # "": the file that is checked; else one that it includes

    def __str__(self) -> str:
        line = f" in line {self.line}{f' of {self.file}' if self.file else ''}: {self.text}" if self.line else ""
        return f"thread {self.thread} of block {self.block} {self.does or 'is'}{line}"


@dataclass(frozen=True, kw_only=True, repr=False)
class Finding(Brief):
    """One fault; the same two lines are found once."""

    kind: str  # "race", "race between blocks", "uninitialized", "out of bounds", "misaligned", "in flight", "fault"
    kernel: str
    what: str  # the array, the element, and what is wrong
    places: tuple[Place, ...] = ()  # the later access, and the earlier one of a race
    array: str = ""
    count: int = 1  # how often; `places` is the first time

    def __str__(self) -> str:
        times = f" ({self.count} times)" if self.count > 1 else ""
        return "\n  ".join([f"{self.kernel}: {self.kind}: {self.what}{times}", *map(str, self.places)])


@dataclass(frozen=True, kw_only=True, repr=False)
class Traffic(Brief):
    """How warps access one array in one line of a kernel.

    What the lanes of a warp access at once is a request. Of global memory it takes sectors of 32 bytes; of shared
    memory cycles, more than one for each 128 bytes where lanes ask a bank for different words.
    """

    kernel: str
    line: int
    text: str
    array: str
    does: str
    shared: bool
    size: int  # bytes that a lane accesses
    requests: int
    cost: int  # sectors or cycles, of all requests
    least: int  # what they would be, were all bytes of a request next to each other
    file: str = ""  # "": the file that is checked; else one that it includes

    @property
    def per_request(self) -> float:
        """Sectors, or cycles, of a request."""
        return self.cost / self.requests

    @property
    def excess(self) -> float:
        """How many times as many as needed; 1.0 is coalesced, or free of bank conflicts."""
        return self.cost / self.least if self.least else 1.0

    def __str__(self) -> str:
        unit = "cycles" if self.shared else "sectors"
        least = f"{self.least / self.requests:.3g}"
        place = ":".join([self.kernel, *([self.file] if self.file else []), str(self.line)])
        return (
            f"{place}: {self.does} {self.array}, {self.size} bytes a lane: "
            f"{self.per_request:.3g} {unit} a request ({least} needed), {self.requests} requests: {self.text}"
        )


@dataclass(frozen=True, kw_only=True, repr=False)
class CheckReport(Brief):
    """What a run of kernels under the checker showed; empty `findings` mean that there is no fault at these sizes."""

    findings: tuple[Finding, ...]
    traffic: tuple[Traffic, ...] = ()  # in order of kernels and lines
    threads: int = 0  # launched in all
    accesses: int = 0  # to memory, of all of them
    doubts: tuple[Finding, ...] = ()  # which would be faults if results depended on them

    @property
    def is_silent(self) -> bool:
        return not self.findings

    def __str__(self) -> str:
        found = "\n".join(map(str, self.findings)) or "no races, uninitialized reads or accesses out of bounds"
        return "\n".join([found, *map(str, self.traffic)])
