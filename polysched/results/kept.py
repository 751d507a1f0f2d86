"""Results on disk: what one process has compiled, the next one calls at once.

The key is all that a result depends on: the nest with its places, target, schedule and options, and the version of all
that compiles, to the file. The value is the pickled result, of which a call reads a small part. POLYSCHED_RESULTS=off
compiles anew each time; so do POLYSCHED_DUMP and `record()`, which watch the compiler at work.
"""

from __future__ import annotations

import os
import pickle
import re
import sys
from collections.abc import Callable
from contextlib import suppress
from functools import cache
from hashlib import sha256
from io import BytesIO
from typing import Any

from polysched.results.compiled import Compiled
from polysched.runtime.cache import remember, remembered
from polysched.support.trace import is_watched, verifies_each
from polysched.support.version import __version__

_SUFFIX = ".result"
# The packages that decide what comes out, as their folders are called.
_USED = re.compile(r"(islpy|highspy|numpy|scipy|pulp)-.*-info", re.I)


def kept(asked: tuple[Any, ...], compile: Callable[[], Compiled]) -> Compiled:
    """The result of `compile`, or of an earlier process that was asked for the same."""
    if os.environ.get("POLYSCHED_RESULTS") == "off" or is_watched():
        return compile()
    try:
        key = ("result", _digest(_written(asked)), _state(), str(verifies_each()))
    except (RecursionError, pickle.PicklingError, AttributeError, TypeError):  # too deep, or none of ours: that is said
        return compile()
    if (content := remembered(key, _SUFFIX)) is not None:
        found: Compiled = pickle.loads(content)
        object.__setattr__(found, "from_cache", True)
        return found
    done = compile()
    if not done.fallbacks:  # with more time, or on a machine with less to do, the next one may do better
        with suppress(RecursionError):
            remember(key, _SUFFIX, pickle.dumps(done))
    return done


def _written(value: Any) -> bytes:
    """The value as bytes, the same for equal values: which parts are one object in memory does not count."""
    out = BytesIO()
    pickler = pickle.Pickler(out)
    pickler.fast = True
    pickler.dump(value)
    return out.getvalue()


@cache
def _state() -> str:
    """The version of all that compiles. Files count by size and time, so that a developer sees no stale result."""
    parts = [__version__, sys.version, *_packages()]
    with suppress(OSError):  # a package that is no folder changes with its version only
        parts += _files(os.path.dirname(os.path.dirname(__file__)))
    return _digest("\n".join(parts).encode())


def _packages() -> list[str]:
    """The packages used, with their versions: names of folders, since reading what is inside takes long."""
    found = []
    for folder in sys.path:
        with suppress(OSError):
            found += [name for name in os.listdir(folder or ".") if _USED.fullmatch(name)]
    return sorted(found)


def _files(folder: str) -> list[str]:
    found = []
    for entry in sorted(os.scandir(folder), key=lambda entry: entry.name):
        if entry.is_dir():
            found += _files(entry.path) if entry.name != "__pycache__" else []
        else:
            status = entry.stat()
            found.append(f"{entry.name} {status.st_size} {status.st_mtime_ns}")
    return found


def _digest(content: bytes) -> str:
    return sha256(content).hexdigest()
