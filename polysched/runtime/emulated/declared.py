"""What a text of kernels declares: its kernels, and its arrays that are neither parameters nor local.

>>> text = "__global__ void flip(float *a) { __shared__ float tile[2][N][N]; tile[0][0][0] = 1; }"
>>> declared_arrays(text)
[DeclaredArray(name='tile', function='flip', extents=(2, 'N', 'N'), itemsize=4, is_dynamic=False)]
>>> declared_arrays(text)[0].shape(512)
((2, 8, 8), 4)
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from math import prod


@dataclass(frozen=True)
class DeclaredArray:
    """An array, as the text has it."""

    name: str
    function: str  # that it is declared in; "": none
    extents: tuple[int | str, ...]  # in words where it is not a number in the text
    itemsize: int | None  # None: of a type that is not known here
    is_dynamic: bool = False  # its size is that of a launch

    def shape(self, size: int) -> tuple[tuple[int, ...], int] | None:
        """Its extents and the bytes of its elements, if it has `size` bytes; None if they do not follow from that."""
        known = prod(extent for extent in self.extents if isinstance(extent, int))
        unknown = [extent for extent in self.extents if isinstance(extent, str)]
        itemsize = self.itemsize or (0 if unknown or not known else size // known)
        if itemsize not in (1, 2, 4, 8, 16) or not known or len({*unknown}) > 1:
            return None
        side = round((size // (known * itemsize)) ** (1 / max(1, len(unknown))))  # of each that is in the same words
        shape = tuple(side if isinstance(extent, str) else extent for extent in self.extents)
        return (shape, itemsize) if prod(shape) * itemsize == size else None


def without_comments(text: str) -> str:
    return _COMMENT.sub(" ", text)


def declared_kernels(text: str) -> dict[str, int]:
    """The kernels of CUDA's text, which has no comments, and where in it the names of each end."""
    return {match[1]: match.end(1) for match in _KERNEL.finditer(text)}


def template_parameters(text: str, kernel: str) -> str:
    """Those of the kernel, such as "class T, int N", in a text without comments; "" if it is no template."""
    found = re.search(rf"\btemplate\s*<([^;{{}}()]*)>{BETWEEN}__global__\b{BETWEEN}\b{re.escape(kernel)}\s*\(", text)
    return found[1].strip() if found else ""


def declared_arrays(text: str) -> list[DeclaredArray]:
    """Shared, `__device__` and `__constant__` arrays, in order of the text."""
    plain = without_comments(text)
    functions = [(match.end(), match[1]) for match in _FUNCTION.finditer(plain)]
    found = []
    for match in _DECLARATION.finditer(plain):
        around = plain[: match.start()]
        is_inside = around.count("{") > around.count("}")
        function = next((name for end, name in reversed(functions) if is_inside and end <= match.start()), "")
        is_extern = bool(re.search(r"\bextern\b[^;{}()]*$", around)) or "extern" in match[1].split()
        words = re.sub(INSIDE, " ", match[1])
        for name, extents in _DECLARATOR.findall(words):
            sides = (side.strip() for side in re.findall(r"\[([^\]]*)\]", extents))
            sizes = tuple(int(side) if side.isdigit() else side for side in sides)
            is_dynamic = is_extern and not extents.strip("[] \t\n")
            found.append(DeclaredArray(name, function, sizes, _itemsize(words), is_dynamic))
    return found


def dynamic_arrays(text: str) -> list[str]:
    """The names of the `extern __shared__` arrays in CUDA's text."""
    return sorted({array.name for array in declared_arrays(text) if array.is_dynamic})


_COMMENT = re.compile(r"//[^\n]*|/\*.*?\*/", re.DOTALL)
INSIDE = r"\((?:[^(){}]|\((?:[^(){}]|\([^(){}]*\))*\))*\)"  # what parentheses hold, and these
BETWEEN = rf"[^;{{}}()]*(?:\b__\w+__\s*{INSIDE}[^;{{}}()]*)*"  # as in "void __launch_bounds__(64)"
_NAME = rf"{BETWEEN}\b(\w+)"
_KERNEL = re.compile(rf"__global__\b{_NAME}\s*\(")
_FUNCTION = re.compile(rf"\b(?:__global__|__device__|__kernel)\b{_NAME}\s*{INSIDE}\s*\{{")
_DECLARATION = re.compile(r"\b(?:__shared__|__device__|__constant__|__managed__|__local)\b([^;{}=]*)(?=[;{=])")
_DECLARATOR = re.compile(r"\b(\w+)\s*((?:\[[^\]]*\]\s*)+)(?=,|$)")
_TYPE = re.compile(r"\b(?:__)?u?(bool|char|short|half|int|unsigned|float|long|double)((?:8|16|32|64)_t|[1234])?\b")
_SIZES = {"bool": 1, "char": 1, "short": 2, "half": 2, "int": 4, "unsigned": 4, "float": 4, "long": 8, "double": 8}


def _itemsize(words: str) -> int | None:
    """The bytes of the type that these words begin with, such as "unsigned char", "int32_t" or "float4"."""
    kinds = _TYPE.findall(words)
    if not kinds:
        return None
    kind, suffix = kinds[-1] if len(kinds) == 1 or kinds[-1][0] != "int" else kinds[-2]
    if suffix.endswith("_t"):
        return int(suffix[:-2]) // 8
    return _SIZES[kind] * int(suffix or 1)
