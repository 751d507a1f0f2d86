"""TSVC-2's own tsvc.c, as a program that runs one of its loops.

    for (int nl = 0; nl < 2*iterations; nl++) {         for (int nl = 0; nl < tsvc_runs; nl++) {
                                                        #pragma scop
        for (int i = 0; i < LEN_1D; i++)        ->          for (int i = 0; i < LEN_1D; i++)
            a[i] = b[i] + 1;                                    a[i] = b[i] + 1;
                                                        #pragma endscop
        dummy(a, b, c, d, e, aa, bb, cc, 0.);               dummy(a, b, c, d, e, aa, bb, cc, 0.);

What a function of TSVC repeats is the region; what it calls to keep compilers from leaving that out ends it.
"""

from __future__ import annotations

import re
import shutil
from collections.abc import Collection
from pathlib import Path

_BESIDE = ("common.c", "common.h", "array_defs.h", "dummy.c")
_OURS = ("harness.c", "harness.h")
_HEAD = re.compile(r"(for \(int nl = 0; nl < )([^;]*)(; nl\+\+\) \{\n)")
_FUNCTION = re.compile(r"^real_t (\w+)\(struct args_t \*", re.M)
_END = re.compile(r"^ *dummy\(", re.M)


class NotTsvc(Exception):
    """The file is not TSVC-2's tsvc.c, or a file beside it is missing."""


def prepare(source: Path, folder: Path, only: Collection[str]) -> list[str]:
    """Writes `marked.c`, with a region for each loop (of `only`, if it names some), and what it needs into `folder`.

    The names of the loops, in the order of the file. NotTsvc if there are none.
    """
    try:
        for name in _BESIDE:
            shutil.copy(source.with_name(name), folder / name)
        text = source.read_text()
    except OSError as error:
        raise NotTsvc(f"{error.filename}: {error.strerror}") from error
    for name in _OURS:
        shutil.copy(Path(__file__).with_name(name), folder)
    header = (folder / "common.h").read_text()
    header = re.sub(r"^#define iterations .*$", '#include "harness.h"', header, flags=re.M)
    (folder / "common.h").write_text(header)
    pieces, names, last = [], [], 0
    for head in _HEAD.finditer(text):
        function = [found[1] for found in _FUNCTION.finditer(text, 0, head.start())][-1]
        end = _END.search(text, head.end())
        if end is None:
            raise NotTsvc(f"{source}: {function} does not call dummy")
        is_chosen = not only or function in only
        names += [function] if is_chosen else []
        before, after = ("#pragma scop\n", "#pragma endscop\n") if is_chosen else ("", "")
        region = text[head.end() : end.start()]
        pieces += [text[last : head.start()], head[1], "tsvc_runs", head[3], before, region, after]
        last = end.start()
    if not names:
        raise NotTsvc(f"{source}: none of the loops of TSVC-2 is in it")
    marked = "".join([*pieces, text[last:]])
    marked = re.sub(r"time_function\(&(\w+), ", r'tsvc_loop("\1", &\1, ', marked)
    (folder / "marked.c").write_text(marked)
    return names
