"""Files that take long to make, on disk: made once per content, shared by processes, made again when damaged.

    ~/.cache/polysched/<key>-<digest>.so      key: hash of all that the file depends on
                                              digest: hash of what must be inside
    ~/.cache/polysched/polysched-building-*/  where a process is making one

`$POLYSCHED_CACHE` names another directory. A file appears under its name whole or not at all, since it is renamed
into place; processes that make the same thing at once all end up with a good file. What is loaded is run, so it must
belong to the user, who alone may write to it.
"""

from __future__ import annotations

import fcntl
import os
import re
import shutil
import stat
import tempfile
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager, suppress
from hashlib import sha256
from pathlib import Path

from polysched.errors import ToolchainError

_HINT = "set POLYSCHED_CACHE to a writable directory of your own"
_MOST_BYTES = 256 << 20  # of all files together; those that were not used for longest go
_NAME = re.compile(r"[0-9a-f]{32}-[0-9a-f]{32}\.\w+")  # a folder that the user names may hold other files, too
_BUILDING = "polysched-building-"


def cached(parts: Iterable[str], suffix: str, build: Callable[[Path], object]) -> Path:
    """The file for these parts; if there is no good one, `build` is called with the path to write it to, in an empty
    folder that goes away afterwards. ToolchainError if nothing can be kept."""
    folder, key = cache_folder(), _key(parts)
    if kept := _kept(folder, key, suffix):
        return kept[0]
    try:
        with _workshop(folder) as shop:
            build(fresh := shop / f"fresh{suffix}")
            fresh.chmod(0o600)
            path = folder / f"{key}-{_digest(fresh.read_bytes())}{suffix}"
            fresh.replace(path)
    except OSError as error:
        raise ToolchainError(f"the cache {folder} cannot be written to: {error.strerror or error}; {_HINT}") from error
    _sweep(folder)
    _evict(folder)
    return path


def remember(parts: Iterable[str], suffix: str, content: bytes) -> None:
    """Keeps the content for these parts, if it can be kept, in place of another one."""
    with suppress(ToolchainError, OSError):
        parts = tuple(parts)
        for path in cache_folder().glob(f"{_key(parts)}-*{suffix}"):
            if not path.stem.endswith(_digest(content)):
                path.unlink(missing_ok=True)
        cached(parts, suffix, lambda path: path.write_bytes(content))


def remembered(parts: Iterable[str], suffix: str) -> bytes | None:
    """The content that is kept for these parts; None if there is none."""
    try:
        kept = _kept(cache_folder(), _key(parts), suffix)
    except ToolchainError:
        return None
    return kept[1] if kept else None


def _kept(folder: Path, key: str, suffix: str) -> tuple[Path, bytes] | None:
    """The good file for the key, and what is in it, which was used now; damaged ones go."""
    for path in sorted(folder.glob(f"{key}-*{suffix}")):
        content = _content(path)
        with suppress(OSError):
            path.unlink() if content is None else os.utime(path)
        if content is not None:
            return path, content
    return None


def _content(path: Path) -> bytes | None:
    """What is in the file; None if it is damaged, or another user could have written it."""
    try:
        handle = os.open(path, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK)
    except OSError:  # another process has found it damaged, or it is a link
        return None
    with open(handle, "rb") as file:
        found = os.fstat(handle)
        if not (stat.S_ISREG(found.st_mode) and _is_trusted(found)):
            return None
        content = file.read()
    return content if path.stem.endswith(_digest(content)) else None


def _is_trusted(found: os.stat_result) -> bool:
    """May nobody but this user and root write to it?"""
    return found.st_uid in (os.geteuid(), 0) and not found.st_mode & (stat.S_IWGRP | stat.S_IWOTH)


# --- the folder


def cache_folder() -> Path:
    """The folder that the user names; else one in the home, or where that cannot be, among temporary files."""
    if named := os.environ.get("POLYSCHED_CACHE"):
        return _usable(Path(os.path.expanduser(named)))
    home = Path(os.path.expanduser("~"))  # which stays "~" for a user without a home
    if home.is_absolute():
        with suppress(ToolchainError):
            folder = _usable(home / ".cache" / "polysched")
            if os.access(folder, os.W_OK | os.X_OK):
                return folder
    try:
        folder = Path(tempfile.gettempdir(), f"polysched-{os.geteuid()}")
    except OSError as error:
        raise ToolchainError(f"there is no directory for a cache: {error.strerror or error}; {_HINT}") from error
    if folder.is_symlink():
        raise ToolchainError(f"the cache {folder} is a link, which may be another user's; {_HINT}")
    return _usable(folder)


def _usable(folder: Path) -> Path:
    """The folder, made if need be; ToolchainError if it cannot be used, or others can change what is in it."""
    try:
        folder.mkdir(mode=0o700, parents=True, exist_ok=True)
        found = folder.stat()
    except OSError as error:
        raise ToolchainError(f"the cache {folder} cannot be created: {error.strerror or error}; {_HINT}") from error
    if found.st_uid not in (os.geteuid(), 0):
        raise ToolchainError(f"the cache {folder} belongs to another user; {_HINT}")
    if _others_can_rename(found):
        raise ToolchainError(f"other users can write to the cache {folder}; chmod go-w it, or {_HINT}")
    return folder


def _others_can_rename(found: os.stat_result) -> bool:
    """May others put files in place of ours?"""
    # Many systems give each user a group of the same number, and let it write.
    shared = stat.S_IWOTH | (0 if found.st_gid == found.st_uid else stat.S_IWGRP)
    return bool(found.st_mode & shared) and not found.st_mode & stat.S_ISVTX


# --- what is under way, and what is left over


@contextmanager
def _workshop(folder: Path) -> Iterator[Path]:
    """A new folder inside, locked as long as its process lives."""
    shop, lock = _locked_shop(folder)
    try:
        yield shop
    finally:
        shutil.rmtree(shop, ignore_errors=True)
        os.close(lock)


def _locked_shop(folder: Path) -> tuple[Path, int]:
    while True:
        shop = Path(tempfile.mkdtemp(dir=folder, prefix=_BUILDING))
        with suppress(FileNotFoundError):  # swept between its making and its lock
            lock = os.open(shop, os.O_RDONLY)
            with suppress(OSError):  # a file system without locks, where nothing is swept
                fcntl.flock(lock, fcntl.LOCK_EX)
            if shop.exists():
                return shop, lock
            os.close(lock)


def _sweep(folder: Path) -> None:
    """Removes what processes that were killed have left: their locks went with them."""
    for shop in folder.glob(f"{_BUILDING}*"):
        with suppress(OSError):
            lock = os.open(shop, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK)
            try:
                fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
                shutil.rmtree(shop) if shop.is_dir() else shop.unlink()
            finally:
                os.close(lock)


def _evict(folder: Path) -> None:
    """Removes the files that were not used for longest, until the others are within bounds."""
    files = []
    for path in filter(lambda path: _NAME.fullmatch(path.name), folder.iterdir()):
        with suppress(OSError):
            found = path.lstat()
            files.append((found.st_mtime_ns, found.st_size, path))
    total = sum(size for _, size, _ in files)
    for _, size, path in sorted(files):
        if total <= _MOST_BYTES:
            return
        with suppress(OSError):
            path.unlink()
        total -= size


def _key(parts: Iterable[str]) -> str:
    return _digest("\0".join(parts).encode(errors="surrogateescape"))


def _digest(content: bytes) -> str:
    return sha256(content).hexdigest()[:32]
