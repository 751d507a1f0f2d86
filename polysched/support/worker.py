"""A process for calls that may run away, or die: it serves one after the other, and is started anew after a death.

    with Worker(memory=8 << 30) as worker:
        worker.call(60, parse, path)        the value of parse(path), or its PolyschedError
        worker.call(60, compile, path)      BudgetExceeded: it took more than 60 s; it died of a stack overflow; ...

What ends it, and a Ctrl-C, ends what it has started, too. Functions keep what they cache between two calls.
"""

from __future__ import annotations

import faulthandler
import multiprocessing
import os
import signal
import sys
from collections.abc import Callable
from contextlib import suppress
from multiprocessing.connection import Connection
from pathlib import Path
from typing import Any

from polysched.errors import BudgetExceeded, PolyschedError

try:
    import resource
except ImportError:  # not on Windows, where memory has no limit
    resource = None  # type: ignore[assignment]

# A fork costs some milliseconds; elsewhere than on Linux, system libraries do not bear it.
_PROCESSES: Any = multiprocessing.get_context("fork" if sys.platform == "linux" else "spawn")
_DEATHS = {"SIGSEGV": "died, as of a stack overflow", "SIGBUS": "died, as of a stack overflow", "SIGKILL": "was killed"}


class Worker:
    """Use it as a context manager; `memory` in bytes, which a call may take; without a limit if 0."""

    def __init__(self, memory: int = 0):
        self._memory = memory
        self._process: Any = None
        self._connection: Connection | None = None

    def call(self, seconds: float, fn: Callable[..., Any], *args: Any) -> Any:
        """`fn(*args)`, for a function of a module and values that pickle.

        A PolyschedError of the call is raised here, as is BudgetExceeded if it takes longer, needs more memory or
        brings the process down; RuntimeError for any other exception.
        """
        connection = self._started()
        try:
            connection.send((fn, args))
            if not connection.poll(seconds):
                raise BudgetExceeded(f"it took more than {seconds:g} s")
            answer, is_error = connection.recv()
        except (EOFError, ConnectionError):
            self._process.join()
            raise BudgetExceeded(f"the process that compiles it {_death(self._process.exitcode)}") from None
        except BaseException:  # Ctrl-C among them
            self.close()
            raise
        if is_error:
            raise answer
        return answer

    def _started(self) -> Connection:
        if self._process is not None and not self._process.is_alive():
            self.close()
        if self._connection is None:
            self._connection, theirs = _PROCESSES.Pipe()
            self._process = _PROCESSES.Process(
                target=_serve, args=(theirs, self._connection, self._memory), daemon=True
            )
            self._process.start()
            theirs.close()
        assert self._connection is not None
        return self._connection

    def close(self) -> None:
        """Ends the process, whatever it does, and what it has started."""
        if self._process is not None:
            with suppress(ProcessLookupError, PermissionError, AttributeError):
                if os.getpgid(self._process.pid) == self._process.pid:
                    os.killpg(self._process.pid, signal.SIGKILL)
            self._process.kill()
            self._process.join()
        if self._connection is not None:
            self._connection.close()
        self._process = self._connection = None

    def __enter__(self) -> Worker:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()


def _death(status: int) -> str:
    name = signal.Signals(-status).name if status < 0 else f"status {status}"
    return _DEATHS.get(name, f"died of {name}")


def _serve(connection: Connection, parents: Connection, memory: int) -> None:
    """Runs in the process: calls in, results out, until the other side has gone."""
    parents.close()
    _leave_the_terminal()
    if memory and resource is not None:
        least, most = _mapped() + memory, resource.getrlimit(resource.RLIMIT_AS)[1]
        resource.setrlimit(resource.RLIMIT_AS, (least if most < 0 else min(least, most), most))
    while True:
        try:
            fn, args = connection.recv()
        except (EOFError, ConnectionError):
            return
        try:
            answer, is_error = fn(*args), False
        except PolyschedError as error:  # some have fields that do not pickle
            answer, is_error = type(error)(str(error)), True
        except MemoryError:
            answer, is_error = BudgetExceeded(f"it needs more than {memory / 2**30:.1f} GiB of memory"), True
        except RecursionError:  # below the user's functions, of which there are none here
            answer, is_error = BudgetExceeded("this is nested too deeply"), True
        except Exception as error:
            answer, is_error = RuntimeError(f"{type(error).__name__}: {error}"), True
        connection.send((answer, is_error))


def _mapped() -> int:
    """Bytes of address space that the libraries have taken by now."""
    try:
        return int(Path("/proc/self/statm").read_text().split()[0]) * resource.getpagesize()
    except OSError:
        return 0


def _leave_the_terminal() -> None:
    """What libraries print is not for the user, and a Ctrl-C is for the parent, which ends the whole group."""
    with suppress(AttributeError, OSError):
        os.setsid()
    with suppress(OSError):
        nowhere = os.open(os.devnull, os.O_RDWR)
        for stream in (0, 1, 2):
            os.dup2(nowhere, stream)
    faulthandler.disable()
    signal.signal(signal.SIGINT, signal.SIG_IGN)
