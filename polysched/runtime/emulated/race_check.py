"""race_check.cpp, loaded, and what it holds after a run: these are its structs."""

from __future__ import annotations

import ctypes
from dataclasses import dataclass
from functools import cache

from polysched.runtime.emulated.emulate import with_headers
from polysched.runtime.toolchain import compile_shared

DOES = ("reads", "writes", "updates atomically", "copies asynchronously", "")  # by its number
KINDS = (  # and why it is a fault, if the element does not say so
    ("race", "without a barrier in between"),
    ("race between blocks", "of one launch, in no order"),
    ("uninitialized", "which nothing has written"),
    ("out of bounds", ""),
    ("misaligned", ""),
    ("out of bounds", "far from any array"),
    ("out of bounds", "local memory of another thread"),
    ("out of bounds", ""),
    ("in flight", "while an asynchronous copy to it has not been waited for"),
    ("fault", ""),
)
STOPPED = (  # what it says when it stops a launch for what it has found
    "an access far",
    "an access out of bounds",
    "an index out of bounds",
    "a misaligned access",
    "a division by zero",
)
GUARD = 1 << 16  # it relies on so many bytes around an argument that are nobody's
_SHARED = 1


class RawPlace(ctypes.Structure):
    """Who, in numbers; `pc` 0 is nobody."""

    _fields_ = (
        ("pc", ctypes.c_uint64),
        *((name, ctypes.c_uint32) for name in ("block", "thread", "operation", "launch")),
    )


class RawFinding(ctypes.Structure):
    """`offset` is in bytes from the begin of the region; `region` -1 is none."""

    _fields_ = (
        *((name, ctypes.c_int32) for name in ("kind", "region", "size", "line")),
        ("offset", ctypes.c_int64),
        ("count", ctypes.c_uint64),
        ("one", RawPlace),
        ("other", RawPlace),
        ("text", ctypes.c_char * 128),
    )


class RawLaunch(ctypes.Structure):
    _fields_ = (
        ("kernel", ctypes.c_char * 128),
        ("grid", ctypes.c_uint32 * 3),
        ("block", ctypes.c_uint32 * 3),
    )


class RawSite(ctypes.Structure):
    """An instruction that accesses memory; `launch` is the first of its kernel."""

    _fields_ = (
        ("pc", ctypes.c_uint64),
        *((name, ctypes.c_uint32) for name in ("launch", "size", "operation")),
        ("region", ctypes.c_int32),
        *((name, ctypes.c_uint64) for name in ("accesses", "requests")),
        *((name, ctypes.c_uint64) for name in ("sectors", "least_sectors", "cycles", "least_cycles")),
    )


@dataclass(frozen=True)
class Region:
    """Memory that belongs together."""

    size: int
    shared: bool
    like: int  # the region that it is a copy of; -1: none


@dataclass(frozen=True)
class RaceCheck:
    """The checker: kernels that are loaded after it call its functions; it holds what one run at a time shows."""

    library: ctypes.CDLL

    def reset(self) -> None:
        """Forgets all arrays and findings."""
        self.library.polysched_check_reset()

    def add_array(self, at: int, size: int, itemsize: int) -> int:
        """The region of an argument."""
        granule = min(itemsize & -itemsize, 8).bit_length() - 1
        return self.library.polysched_check_array(ctypes.c_void_p(at), ctypes.c_size_t(size), granule)

    def add_variable(self, at: int, size: int) -> int:
        """The region of a __device__ variable."""
        return self.library.polysched_check_fixed(ctypes.c_void_p(at), ctypes.c_size_t(size))

    def add_shared(self, offset: int, size: int | None, kernel: str = "") -> int:
        """The region of a shared array, so many bytes behind the first; None: it has the dynamic size of a launch.
        `kernel` is the one that has it; "": all."""
        return self.library.polysched_check_shared(
            ctypes.c_size_t(offset), ctypes.c_size_t(-1 if size is None else size), kernel.encode()
        )

    def add_ignored(self, offset: int, size: int) -> int:
        """The region of a variable of the compiler's, so many bytes behind the first shared array."""
        return self.library.polysched_check_ignored(ctypes.c_size_t(offset), ctypes.c_size_t(size))

    def limit(self, accesses: int) -> None:
        """Stops kernels after so many."""
        ctypes.c_uint64.in_dll(self.library, "polysched_check_limit").value = accesses

    def accesses(self) -> int:
        """How many there were, and threads that ran."""
        return self.library.polysched_check_accesses()

    def findings(self) -> list[RawFinding]:
        return self._all("finding")

    def doubts(self) -> list[RawFinding]:
        """What is a fault only if results depend on it."""
        return self._all("doubt")

    def launches(self) -> list[RawLaunch]:
        return self._all("launched")

    def sites(self) -> list[RawSite]:
        return self._all("site")

    def region(self, number: int) -> Region:
        known = (ctypes.c_int64 * 3)()
        self.library.polysched_check_region(ctypes.c_size_t(number), known)
        return Region(known[0], known[1] == _SHARED, known[2])

    def _all(self, what: str) -> list:
        count = self.library.polysched_check_count(list(_HELD).index(what))
        return [getattr(self.library, f"polysched_check_{what}")(k).contents for k in range(count)]


_HELD = {"finding": RawFinding, "launched": RawLaunch, "site": RawSite, "doubt": RawFinding}  # in the checker's order


@cache
def race_check() -> RaceCheck:
    """The checker of this process, compiled once."""
    path = compile_shared(with_headers("race_check.cpp"), "race_check", language="c++", flags=("-std=gnu++17", "-O2"))
    library = ctypes.CDLL(str(path), mode=ctypes.RTLD_GLOBAL)
    for what, result in _HELD.items():
        function = getattr(library, f"polysched_check_{what}")
        function.restype, function.argtypes = ctypes.POINTER(result), [ctypes.c_size_t]
    library.polysched_check_count.restype = library.polysched_check_accesses.restype = ctypes.c_size_t
    return RaceCheck(library)
