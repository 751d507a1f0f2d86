"""Standard output and error as they may be: full, closed, a pipe that nobody reads."""

from __future__ import annotations

import errno
import io
import os
import sys
from collections.abc import Callable
from contextlib import suppress
from typing import TextIO

from polysched.errors import PolyschedError

INTERRUPTED, UNREAD = 130, 141  # as a shell has it: 128 and the number of SIGINT, SIGPIPE


def run_in_streams(run: Callable[[], int]) -> int:
    """The status of `run`; 2 with a line on standard error where it raises, or its output cannot be written.

    130 after a Ctrl-C; 141, and no line, if the reader of its output has left, as `head` does.
    """
    _open_what_is_closed()
    try:
        try:
            return run()
        finally:  # of a SystemExit, too: that is --help
            sys.stdout.flush()
    except PolyschedError as error:
        _complain(str(error))
    except KeyboardInterrupt:
        _drop(sys.stdout)
        return INTERRUPTED
    except BrokenPipeError:
        _drop(sys.stdout)
        return UNREAD
    except OSError as error:
        if error.filename is not None:
            _complain(f"'{error.filename}': {error.strerror}")
        else:
            _drop(sys.stdout)
            _complain(f"standard output cannot be written: {error.strerror}")
    return 2


def _complain(message: str) -> None:
    with suppress(OSError, ValueError):  # nobody is to read it
        print(message, file=sys.stderr, flush=True)
        return
    _drop(sys.stderr)


def _drop(stream: TextIO) -> None:
    """What it still holds goes nowhere, at the end of the process, too."""
    with suppress(OSError, ValueError, AttributeError):
        os.dup2(os.open(os.devnull, os.O_WRONLY), stream.fileno())
        stream.flush()


def _open_what_is_closed() -> None:
    """Python has no stream for a descriptor that is closed, and files opened later would get its number."""
    for number, name in enumerate(("stdin", "stdout", "stderr")):
        if getattr(sys, name) is None:
            descriptor = os.open(os.devnull, os.O_RDWR)
            if descriptor != number:
                os.dup2(descriptor, number)
            setattr(sys, name, io.TextIOWrapper(_Closed(), errors="replace", write_through=True))


class _Closed(io.RawIOBase):
    def writable(self) -> bool:
        return True

    def write(self, _: object) -> int:
        raise OSError(errno.EBADF, "it is closed")
