"""What `read_c` finds in a C file: regions, each with the nest that it is and what ties the nest to the file."""

from __future__ import annotations

from collections.abc import Mapping, Set
from dataclasses import dataclass, field

from polysched.errors import Loc
from polysched.ir.nodes import Function


@dataclass(frozen=True)
class Expansion:
    """What a macro stood for when the region was read: `N` for `8`; an identifier that may be one, for itself."""

    text: str
    meaning: str  # a string literal of C
    is_number: bool = False  # of the compiler's own, which each spells in its way: the same number is as good


@dataclass(frozen=True)
class Held:
    """A condition of the preprocessor that held when the region was read."""

    test: str  # as #if has it
    place: str


@dataclass(frozen=True, kw_only=True)
class Rows:
    """An array of pointers to rows that is one array where they are as far from each other; each text is C."""

    array: str  # in the nest
    pointers: str  # the array of pointers
    first: str  # a name for a pointer to the first element
    ranges: tuple[tuple[str, str], ...]  # of the subscripts of the pointers that the region uses, the outermost first
    extents: tuple[str, ...]  # of the array, but for the outermost one
    distances: Mapping[int, str]  # dimensions whose extent is found where the kernel is called -> its name
    least: str  # how many elements of a row are used
    is_used: str  # when there is any such pointer


@dataclass(frozen=True, kw_only=True)
class Region:
    """One `#pragma scop` region of a C file, and the nest that it is.

    The nest means the region where all `assumptions` hold, the arrays do not overlap, and the sizes are those for
    which the model finds every access in bounds. A size that is negative, say, fails `n >= 0`: such calls run the
    original text.
    """

    function: Function  # its name is the C function's; a second region in it is called f_2
    path: str
    begin: int  # text[begin:end], in bytes, are the lines between the two pragma lines
    end: int
    indent: str  # white space before the first pragma
    expressions: dict[str, str]  # parameter -> C: the value of a size or scalar, a pointer to an array's first element
    unaliased: frozenset[str]  # arrays that overlap no other of the nest, as the C text shows
    named: frozenset[str] = frozenset()  # arrays and scalars that are declared as such, rather than reached by pointers
    interleaved: tuple[frozenset[str], ...] = ()  # arrays that are members of one array of structures
    typed: frozenset[frozenset[str]] = frozenset()  # pairs of arrays that are apart by C's types, and by no test
    fixed: tuple[tuple[str, str], ...] = ()  # places in memory, and arrays whose stores must not change what is there
    rows: tuple[Rows, ...] = ()
    dead: frozenset[str] = frozenset()  # arrays of the function's own that nothing reads behind the region
    outside: str = ""  # a variable that the new text declares, for the calls that stay in their order, and
    calls: Mapping[str, tuple[int, str]] = field(default_factory=dict)  # such calls: parameters, and what they are in C
    texts: frozenset[str] = frozenset()  # such calls that hold statements of the region, which may touch all arrays
    declared: tuple[str, ...] = ()  # lines of C in front of the nest, for these
    in_parts: str = ""  # why there are such texts: what no nest can be
    assumptions: tuple[str, ...]  # C conditions, in names visible at the region
    macros: tuple[Expansion, ...] = ()  # what they stood for, and
    conditions: tuple[Held, ...] = ()  # what held, where the text was read
    taken: frozenset[str]  # identifiers and macros of the file, and what its headers declare: generated names differ
    replaced: Mapping[str, Loc] = field(default_factory=dict)  # keywords that are macros there, and their definitions

    def may_overlap(self, one: str, other: str, written: Set[str]) -> bool:
        """Might two arrays overlap, one of which is written, as far as the C text shows?"""
        is_apart = bool({one, other} & self.unaliased) or any({one, other} <= group for group in self.interleaved)
        is_apart = is_apart or {one, other} in self.typed
        return bool({one, other} & written) and not is_apart
