"""Reaches into isl while it computes: an alarm that makes it stop, and what it says of its last error.

isl never lets go of Python's lock during a call, so no Python thread or signal handler could run meanwhile. A POSIX
timer calls `isl_ctx_abort` from a thread of C's own.
"""

from __future__ import annotations

import ctypes
import os
import struct
from dataclasses import dataclass
from typing import Any


@dataclass(frozen=True)
class Context:
    """isl's context, as C has it."""

    abort: Alarm
    library: ctypes.CDLL
    address: int

    def was_invalid(self) -> bool:
        """Was the last error that isl was asked for what makes no sense, as an operation on two unlike spaces?"""
        return bool(self.library.isl_ctx_last_error(ctypes.c_void_p(self.address)) == _INVALID)


_INVALID = 5  # isl_error_invalid


def context_of(path: str, context: Any) -> Context | None:
    """The context that a Python object of the library at `path` stands for; None where it is not found, or the system
    has no timers."""
    library = ctypes.CDLL(path)
    try:
        address = _address(library, context)
        abort = ctypes.cast(library.isl_ctx_abort, ctypes.c_void_p).value or 0
        return Context(Alarm(abort, address), library, address) if address else None
    except (OSError, AttributeError):
        return None


def _address(library: ctypes.CDLL, context: Any) -> int:
    """Where C keeps the context; 0 if that is not found. islpy does not say, but its object holds the address: the one
    at which isl reads a number that was just set."""
    library.isl_ctx_get_max_operations.restype = ctypes.c_ulong
    library.isl_ctx_get_max_operations.argtypes = [ctypes.c_void_p]
    context.set_max_operations(_RARE)
    try:
        with open("/proc/self/mem", "rb", buffering=0) as memory:  # a read of what is no address fails, and no more
            for address in struct.unpack("8N", os.pread(memory.fileno(), 64, id(context))):
                if _is_readable(memory.fileno(), address) and library.isl_ctx_get_max_operations(address) == _RARE:
                    return int(address)
    finally:
        context.set_max_operations(0)
    return 0


_RARE = 0x5EED_C10C_0FF5


def _is_readable(memory: int, address: int) -> bool:
    try:
        return len(os.pread(memory, 1024, address)) == 1024
    except (OSError, OverflowError):
        return False


class Alarm:
    """Calls a C function with an address after some time, from a thread of C's own; OSError where there are no POSIX
    timers."""

    def __init__(self, function: int, address: int):
        self._libc = ctypes.CDLL(None, use_errno=True)
        if not hasattr(self._libc, "timer_create"):
            raise OSError("this system has no POSIX timers")
        self._event = _Event(address=address, notify=_SIGEV_THREAD, function=function)
        self._timer, self._process = ctypes.c_void_p(), 0

    def set(self, seconds: float) -> None:
        """To ring after so many seconds, in place of any earlier time."""
        if self._process != os.getpid():  # a child has none of its parent's timers
            event, timer = ctypes.byref(self._event), ctypes.byref(self._timer)
            self._require(self._libc.timer_create(_CLOCK_MONOTONIC, event, timer))
            self._process = os.getpid()
        self._set(max(1, int(seconds * 1e9)))

    def stop(self) -> bool:
        """Has it rung, or is it about to? Then the call has been made, or will be any moment."""
        return self._process == os.getpid() and self._set(0) == 0

    def _set(self, nanoseconds: int) -> int:
        """Nanoseconds that were left until it would have rung; 0 is off."""
        seconds, rest = divmod(nanoseconds, 10**9)
        new, old = _Times(0, 0, seconds, rest), _Times()
        self._require(self._libc.timer_settime(self._timer, 0, ctypes.byref(new), ctypes.byref(old)))
        return int(old.seconds * 10**9 + old.nanoseconds)

    def _require(self, status: int) -> None:
        if status:
            raise OSError(ctypes.get_errno(), os.strerror(ctypes.get_errno()))


_CLOCK_MONOTONIC, _SIGEV_THREAD = 1, 2  # of Linux


class _Event(ctypes.Structure):
    """struct sigevent of Linux, 64 bytes."""

    _fields_ = (
        ("address", ctypes.c_void_p),
        ("signal", ctypes.c_int),
        ("notify", ctypes.c_int),
        ("function", ctypes.c_void_p),
        ("attributes", ctypes.c_void_p),
        ("padding", ctypes.c_char * 32),
    )


class _Times(ctypes.Structure):
    """struct itimerspec: the interval between later rings, of which there are none, and the time of the first."""

    _fields_ = tuple((name, ctypes.c_long) for name in ("every", "every_nanoseconds", "seconds", "nanoseconds"))
