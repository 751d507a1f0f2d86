"""Where a place of a text is that is made of several files, by the `#line` in front of it.

>>> text = 'int a;\\n#line 7 "b.h"\\nint b;'
>>> place_of(text, 0, "a.cu"), place_of(text, text.index("int b"), "a.cu")
(('a.cu', 1), ('b.h', 7))
"""

from __future__ import annotations

import re

_MARKER = re.compile(r'^#line (\d+) "(.*)"$', re.MULTILINE)


def place_of(text: str, offset: int, file: str) -> tuple[str, int]:
    """File and line; `file` is that of the text's beginning."""
    start, line = 0, 1
    for found in _MARKER.finditer(text, 0, offset):
        start, line, file = found.end() + 1, int(found[1]), found[2]
    return file, line + text.count("\n", start, offset)
