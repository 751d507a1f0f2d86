"""Calls that must not run away, in a process of their own with a time limit.

isl's scheduler ignores aborts and its quota of operations for minutes.
"""

from __future__ import annotations

import os
import pickle
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

from polysched.errors import BudgetExceeded
from polysched.support import clock


def call_within(seconds: float, fn: Callable[..., Any], *args: Any) -> Any:
    """`fn(*args)`, for a function of a module and values that pickle.

    BudgetExceeded after `seconds`, of which starting the process takes some tenths, or if the call raises it or
    brings the process down; RuntimeError if the call raises anything else.
    """
    seconds = min(max(seconds, 0.0), clock.left())
    # A fresh interpreter rather than a fork, which is not safe beside the threads of numeric libraries.
    command = [sys.executable, "-c", f"from {__name__} import _serve; _serve()"]
    path = os.pathsep.join(filter(None, (str(Path(__file__).parents[2]), os.environ.get("PYTHONPATH"))))
    try:
        answer = subprocess.run(
            command,
            input=pickle.dumps((fn, args)),
            capture_output=True,
            timeout=seconds,
            env={**os.environ, "PYTHONPATH": path},
            check=True,
        )
    except subprocess.TimeoutExpired as error:
        raise BudgetExceeded(f"{fn.__name__} took more than {seconds:.1f} s") from error
    except subprocess.CalledProcessError as error:
        text = error.stderr.decode(errors="replace").strip()
        if error.returncode == 1 and not text.splitlines()[-1].startswith("polysched.errors.BudgetExceeded"):
            raise RuntimeError(f"{fn.__name__} failed in its process:\n{text}") from error
        last = "".join(text.splitlines()[-1:])
        raise BudgetExceeded(f"{fn.__name__} failed: {last or error.returncode}") from error
    return pickle.loads(answer.stdout)


def _serve() -> None:
    """Runs in the process of its own: a call in on standard input, its result out."""
    fn, args = pickle.load(sys.stdin.buffer)
    sys.stdout.buffer.write(pickle.dumps(fn(*args)))
