"""What the compiler says of a kernel's text, in one message about one construct, at the user's line.

    needle.cu:12: 'tex1Dfetch' is not known here: neither the text nor our header of CUDA's words has it
      float x = tex1Dfetch(features, i);
    hint: if nvcc knows it, it is not supported
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping

_ERROR = re.compile(r"^(?P<file>[^\s:][^:\n]*):(?P<line>\d+):\d+: (?:fatal )?error: (?P<what>.*)$", re.MULTILINE)
_UNKNOWN = re.compile(
    r"'(?P<name>[^']+)' (?:was not declared|has not been declared|does not name a type|is not a member of|"
    r"does not name a template type|is not a class template)|(?P<file>\S+): No such file|"
    r"has no member named '(?P<member>[^']+)'|"
    r"there are no arguments to '(?P<dependent>[^']+)' that depend"
)


def refusal(message: str, texts: Mapping[str, str], why_unknown: Callable[[str], str]) -> str:
    """The first of the compiler's complaints that is about one of the user's files, by their names; "" if none is."""
    for found in _ERROR.finditer(message):
        if found["file"] in texts:
            return _refusal(found, texts[found["file"]].splitlines(), why_unknown)
    return ""


def _refusal(found: re.Match[str], lines: list[str], why_unknown: Callable[[str], str]) -> str:
    number = int(found["line"])
    line = lines[number - 1].strip() if number <= len(lines) else ""
    place, hint = f"{found['file']}:{number}", "if nvcc takes it, it is not supported"
    if unknown := _UNKNOWN.search(found["what"]):
        name = next(name for name in unknown.groups() if name).rpartition("::")[2]
        what = f"'{name}' is not known here: neither the text nor our header of CUDA's words has it"
        hint = why_unknown(name) or "if nvcc knows it, it is not supported"
        line = line if name in line else ""
    else:
        what = found["what"]
    return "\n".join([f"{place}: {what}", *([f"  {line}"] if line else []), f"hint: {hint}"])
