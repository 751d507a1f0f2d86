"""What the compiler says of a kernel's text, in one message about one construct, at the user's line.

needle.cu:12: 'scale' is not known here: neither the text nor our header of CUDA's words has it
  float x = scale * features[i];
hint: if nvcc knows it, it is not supported
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping

_PLACE = r"^(?P<file>[^\s:][^:\n]*):(?P<line>\d+):\d+:\s+"
_ERROR = re.compile(rf"{_PLACE}(?:(?P<from>required from)|(?:fatal )?error: (?P<what>.*))", re.MULTILINE)
_UNKNOWN = re.compile(
    r"'(?P<name>[^']+)' (?:was not declared|has not been declared|does not name a type|is not a member of|"
    r"does not name a template type|is not a class template|is not a namespace-name|"
    r"in namespace '[^']+' does not name a (?:template )?type)|"
    r"(?P<file>\S+): No such file|has no member named '(?P<member>[^']+)'|"
    r"there are no arguments to '(?P<dependent>[^']+)' that depend|"
    r"no match for '(?P<operator>operator[^']+)'"
)
# What CUDA has, and is not here.
_LEFT_OUT = [(re.compile(names), what) for names, what in (
    (r"texture|tex(?:[123]D|Cubemap)\w*|CUtexObject|cuda(?:ReadMode|Texture|AddressMode|FilterMode)\w*", "textures"),
    (r"surface|surf(?:[123]D|Cubemap)\w*|CUsurfObject|cudaBoundaryMode\w+", "surfaces"),
    (r"wmma|nvcuda", "tensor cores"),
    (r"cuda", "barriers and pipelines of libcu++"),
    (r"cluster_group|this_cluster|cluster", "clusters of blocks"),
    (r"curand\w*", "generators of cuRAND"),
    (r"cufft\w*", "types of cuFFT"),
    (r"thrust|cub", "Thrust and CUB"),
    (r"cudaGraph\w*", "graphs that kernels change"),
)]  # fmt: skip


def refusal(message: str, texts: Mapping[str, str], why_unknown: Callable[[str], str]) -> str:
    """The first of the compiler's complaints that is about one of the user's files, by their names, or about what one
    of them asks of a header of ours; "" if none is."""
    asked_from: re.Match[str] | None = None
    complaints: list[tuple[str, int, str]] = []  # file, line, what
    for found in _ERROR.finditer(message):
        is_here = found["file"] in texts
        if found["from"]:
            asked_from = found if is_here else asked_from
        elif is_here or asked_from is not None:
            place = found if is_here or asked_from is None else asked_from
            complaints.append((place["file"], int(place["line"]), found["what"]))
    if not complaints:
        return ""
    same_line = [it for it in complaints if it[:2] == complaints[0][:2]]  # of these, a name that is not known explains
    chosen = next((it for it in same_line if _UNKNOWN.search(it[2])), complaints[0])
    return _refusal(*chosen, texts, why_unknown)


def _refusal(file: str, number: int, what: str, texts: Mapping[str, str], why_unknown: Callable[[str], str]) -> str:
    lines = texts[file].splitlines()
    line = lines[number - 1].strip() if number <= len(lines) else ""
    hint = "if nvcc takes it, it is not supported"
    if unknown := _UNKNOWN.search(what):
        name = next(name for name in unknown.groups() if name).rpartition("::")[2]
        left_out = next((what for names, what in _LEFT_OUT if names.fullmatch(name)), "")
        if left_out:
            what, hint = f"'{name}': {left_out} are not supported", "check the kernels without it"
        else:
            what = f"'{name}' is not known here: neither the text nor our header of CUDA's words has it"
            hint = why_unknown(name) or "if nvcc knows it, it is not supported"
        line = line if name.removeprefix("operator") in line else ""
    what = what.removeprefix("static assertion failed: ")
    return "\n".join([f"{file}:{number}: {what}", *([f"  {line}"] if line else []), f"hint: {hint}"])


def refused_arguments(message: str, called: str, template: tuple[str, ...]) -> str:
    """Why there is no kernel `called` of this template, in the compiler's words about the call of it; "" if it says
    nothing of that."""
    said = re.findall(r"^polysched_entry\.h:\d+:\d+:\s+error: ([^;\n]*)", message, re.MULTILINE)
    why = next((it for it in said if not re.search("polysched|'enter[(]|no matches", it)), "")
    if not said or not template:
        return ""
    return f"'{called}' is none of template <{', '.join(template)}>{': ' if why else ''}{why}"
