"""Compiled programs on disk: built once per content, shared by processes, rebuilt when damaged.

    ~/.cache/polysched/<key>-<digest>.so      key: hash of all that the build depends on
                                              digest: hash of what must be inside
`$POLYSCHED_CACHE` names another directory. A file appears under its name whole or not at all, since it is renamed
into place; two processes that build the same thing at once both end up with a good file.
"""

from __future__ import annotations

import os
import tempfile
from collections.abc import Callable, Iterable
from hashlib import sha256
from pathlib import Path

from polysched.errors import ToolchainError

_HINT = "set POLYSCHED_CACHE to a writable directory"


def cached(parts: Iterable[str], suffix: str, build: Callable[[Path], None]) -> Path:
    """The file for these parts; if there is no good one, `build` is called with the path to write it to."""
    folder, key = _folder(), _digest("\0".join(parts).encode())
    for path in sorted(folder.glob(f"{key}-*{suffix}")):
        if _is_whole(path):
            return path
        path.unlink(missing_ok=True)
    handle, name = tempfile.mkstemp(dir=folder, prefix="building-", suffix=suffix)
    os.close(handle)
    fresh = Path(name)
    try:
        build(fresh)
        path = folder / f"{key}-{_digest(fresh.read_bytes())}{suffix}"
        fresh.replace(path)
    finally:
        fresh.unlink(missing_ok=True)
    return path


def _folder() -> Path:
    folder = Path(os.environ.get("POLYSCHED_CACHE") or Path.home() / ".cache" / "polysched").expanduser()
    try:
        folder.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise ToolchainError(f"the cache cannot be created ({error}); {_HINT}") from error
    if not os.access(folder, os.W_OK):
        raise ToolchainError(f"the cache {folder} cannot be written to; {_HINT}")
    return folder


def _is_whole(path: Path) -> bool:
    try:
        return path.stem.endswith(_digest(path.read_bytes()))
    except FileNotFoundError:  # another process has found it damaged
        return False


def _digest(content: bytes) -> str:
    return sha256(content).hexdigest()[:32]
