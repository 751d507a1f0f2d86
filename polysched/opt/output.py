"""Writes a whole file, or leaves what was there."""

from __future__ import annotations

import secrets
from pathlib import Path

from polysched.errors import InputError


def write(path: Path, text: bytes) -> None:
    """InputError if the file cannot be written.

    The new file gets a name that nobody can foresee, and is never one that exists, nor a link.
    """
    try:
        if path.exists() and not path.is_file():  # a device or a pipe has no other name to be moved from
            path.write_bytes(text)
            return
        unfinished = path.with_name(f".{secrets.token_hex(16)}.tmp")
        try:
            with open(unfinished, "xb") as file:
                file.write(text)
            unfinished.replace(path)
        finally:
            unfinished.unlink(missing_ok=True)
    except OSError as error:
        raise InputError(f"'{path}' cannot be written: {error.strerror}") from error
