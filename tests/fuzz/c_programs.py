"""Random C files with one region that is defined for all sizes up to 33: what people write, and what breaks readers.

    print(random_c(random.Random(7)))

Loops of all integer types, up and down, with steps; storage of all widths as arrays, pointers to rows and linearised
pointers; scalars that live on, arrays of one iteration; unsigned arithmetic that wraps; modulo guards, conditions on
data, casts of casts. Signed arithmetic stays below 2**31, no float is cast to an integer that could not hold it, and no
subscript leaves its array, so that the program means one thing.
"""

from __future__ import annotations

import random
from dataclasses import dataclass

EXTENT = 112  # of every dimension: subscripts reach 2 * 35 + 33
INTEGERS = ("int", "long", "unsigned", "size_t", "short", "unsigned char", "signed char", "unsigned short", "long long")
FLOATS = ("double", "float")
COUNTERS = ("int", "int", "int", "long", "unsigned", "size_t", "short")

_HEAD = """\
#include <stddef.h>
#define MIN(a, b) ((a) < (b) ? (a) : (b))
#define MAX(a, b) ((a) > (b) ? (a) : (b))
"""


@dataclass(frozen=True)
class Storage:
    """An array of the kernel: how it is declared, and how an element of it is written."""

    name: str
    type: str
    rank: int
    form: str  # "array", "rows", "linear" or "flat"

    @property
    def declaration(self) -> str:
        match self.form:
            case "array":
                return f"{self.type} {self.name}{f'[{EXTENT}]' * self.rank}"
            case "rows":
                return f"{self.type} (*{self.name}){f'[{EXTENT}]' * (self.rank - 1)}"
            case "linear":
                return f"{self.type} {self.name}[{EXTENT ** self.rank}]"
        return f"{self.type} *restrict {self.name}"

    def element(self, index: tuple[str, ...]) -> str:
        if self.form in ("array", "rows"):
            return self.name + "".join(f"[{one}]" for one in index)
        place = index[0]
        for one in index[1:]:
            place = f"({place}) * {EXTENT} + {one}"
        return f"{self.name}[{place}]"


@dataclass(frozen=True)
class Program:
    """A file whose function is `kernel(n, m, A, B, ..., s_)`."""

    text: str
    size_type: str  # of n and m, "int" or "long"
    arrays: tuple[Storage, ...]
    scalar: str | None  # the type of *s_, if there is one

    def __str__(self) -> str:
        return self.text


def random_c(rng: random.Random) -> Program:
    generator = _Generator(rng)
    text = generator.text()
    return Program(text, generator.size_type, tuple(generator.arrays), generator.scalar)


class _Generator:
    def __init__(self, rng: random.Random):
        self.rng = rng
        self.size_type = rng.choice(("int", "int", "long"))
        self.arrays = [self._storage(name) for name in "ABCD"[: rng.randint(1, 4)]]
        self.scalar = rng.choice((None, "double", "float", "int", "unsigned", "long"))
        self.left = rng.randint(1, 5)  # statements still to be made
        self.names = iter("ijklpqrtuvwxyz")
        self.around: list[str] = []
        self.typed: dict[str, str] = {}
        self.outside: list[str] = []  # loop variables that the function declares

    def _storage(self, name: str) -> Storage:
        rank = self.rng.choice((1, 1, 2, 2, 3))
        form = self.rng.choice(("array", "linear", "flat", "array", "rows")[: 3 if rank == 1 else 5])
        return Storage(name, self.rng.choice((*FLOATS, *FLOATS, *FLOATS, *INTEGERS)), rank, form)

    def text(self) -> str:
        body: list[str] = []
        while self.left > 0:
            body += self.loop("    ")
        parameters = [f"{self.size_type} n, {self.size_type} m", *(array.declaration for array in self.arrays)]
        first = [f"    {self.typed[name]} {name};" for name in self.outside]
        last: list[str] = []
        if self.scalar:
            parameters.append(f"{self.scalar} *s_")
            first.append(f"    {self.scalar} s = *s_;")
            last.append("    *s_ = s;")
        head = f"{_HEAD}\nvoid kernel({', '.join(parameters)})\n{{"
        return "\n".join([head, *first, "#pragma scop", *body, "#pragma endscop", *last, "}", ""])

    # --- loops and conditions

    def loop(self, indent: str) -> list[str]:
        name, rng = next(self.names), self.rng
        kind = self.typed[name] = rng.choice(COUNTERS)
        is_signed = self._signed(name)
        lower, upper, step = self.lower(is_signed), self.upper(is_signed), rng.choice((1, 1, 1, 1, 2, 3, 4, 7))
        if rng.random() < 0.25 and is_signed:
            head = f"{name} = {upper} - 1; {name} >= {lower}; {self._change(name, -step)}"
        else:
            compare = rng.choice((f"{name} < {upper}", f"{upper} > {name}", f"{name} <= {upper} - 1"))
            if not is_signed or rng.random() < 0.1:
                compare = f"{name} < MAX({upper}, 0)" if is_signed else f"{name} < ({kind})MAX({upper}, 0)"
            head = f"{name} = {lower}; {compare}; {self._change(name, step)}"
        if rng.random() < 0.2:
            self.outside.append(name)
        else:
            head = f"{kind} {head}"
        self.around.append(name)
        body = self.block(indent + "    ")
        self.around.pop()
        if len(body) == 1 and rng.random() < 0.5:
            return [f"{indent}for ({head})", *body]
        return [f"{indent}for ({head}) {{", *body, f"{indent}}}"]

    def _change(self, name: str, step: int) -> str:
        if abs(step) == 1:
            sign = "++" if step > 0 else "--"
            return self.rng.choice((f"{name}{sign}", f"{sign}{name}", f"{name} {sign[0]}= 1"))
        return f"{name} {'+' if step > 0 else '-'}= {abs(step)}"

    def outer(self, is_signed: bool) -> str | None:
        """A loop variable around that compares as its values do."""
        alike = [name for name in self.around if self._signed(name) == is_signed]
        return self.rng.choice(alike) if alike and self.rng.random() < 0.3 else None

    def lower(self, is_signed: bool) -> str:
        outer = self.outer(is_signed)
        if outer is None:
            return str(self.rng.choice((0, 0, 0, 1, 2, 3)))
        return self.rng.choice((outer, outer, f"{outer} + 1", f"MAX({outer} - 2, 1)" if is_signed else outer))

    def upper(self, is_signed: bool) -> str:
        outer = self.outer(is_signed)
        size = self.rng.choice(("n", "n", "n", "m"))
        if outer is not None and is_signed:
            return self.rng.choice((outer, f"{outer} + 1", f"MIN({size}, {outer} + 3)", f"{size} - {outer}"))
        return self.rng.choice((size, size, size, f"{size} - 1", f"{size} + 2", f"{size} / 2", "MIN(n, m)", "5"))

    def _signed(self, name: str) -> bool:
        return not self.typed[name].startswith(("unsigned", "size_t"))

    def block(self, indent: str) -> list[str]:
        lines: list[str] = []
        for _ in range(self.rng.choice((1, 1, 2, 3))):
            if lines and self.left <= 0:
                break
            lines += self.loop(indent) if len(self.around) < 4 and self.rng.random() < 0.5 else self.guarded(indent)
        return lines

    def guarded(self, indent: str) -> list[str]:
        if self.rng.random() < 0.7:
            return self.statement(indent)
        lines = [f"{indent}if ({self.condition()}) {{", *self.statement(indent + "    ")]
        if self.rng.random() < 0.3:
            lines += [f"{indent}}} else {{", *self.statement(indent + "    ")]
        return [*lines, f"{indent}}}"]

    def condition(self) -> str:
        rng, one = self.rng, self.rng.choice(self.around)
        kind = rng.random()
        if kind < 0.3:
            return f"{one} % {rng.choice((2, 3, 5))} {rng.choice(('==', '!='))} {rng.choice((0, 1))}"
        if kind < 0.6:
            other = rng.choice((*self.around, "2", "3", "n / 2"))
            return f"{one} {rng.choice(('<', '<=', '>', '>=', '==', '!='))} {other}"
        if kind < 0.7:
            return f"{self.condition()} {rng.choice(('&&', '||'))} {self.condition()}"
        return f"{self.load()} {rng.choice(('<', '>', '<=', '=='))} {self.operand()}"

    # --- statements and expressions

    def statement(self, indent: str) -> list[str]:
        self.left -= 1
        rng = self.rng
        if rng.random() < 0.1:
            return self.local(indent)
        if rng.random() < 0.15:
            name, kind = f"t{self.left + 9}", rng.choice((*FLOATS, "int", "unsigned"))
            target = self.element(rng.choice(self.arrays))
            return [f"{indent}{{", f"{indent}    {kind} {name} = {self.fitting(kind)};",
                    f"{indent}    {target} += {name};", f"{indent}}}"]
        if self.scalar and rng.random() < 0.25:
            return [f"{indent}s {rng.choice(('+=', '-=', '='))} {self.fitting(self.scalar)};"]
        array = rng.choice(self.arrays)
        if array.type in FLOATS and rng.random() < 0.2:
            return [f"{indent}{self.element(array)} *= {rng.choice(('0.5', '1.25f', '-1'))};"]
        if array.type not in FLOATS and rng.random() < 0.1:
            return [f"{indent}{self.element(array)}{rng.choice(('++', '--'))};"]
        op = rng.choice(("=", "=", "+=", "+=", "-="))
        if array.type.startswith("unsigned") and rng.random() < 0.2:
            op = rng.choice(("*=", "^=", "|=", "&="))
        return [f"{indent}{self.element(array)} {op} {self.fitting(array.type)};"]

    def local(self, indent: str) -> list[str]:
        """An array of one iteration, which two loops fill and use."""
        rng, array = self.rng, self.rng.choice(self.arrays)
        name, length = f"w{self.left + 9}", rng.choice(("3", "4", "9", "24", "(n + 1)"))
        kind = rng.choice(FLOATS) if array.type in FLOATS else "int"
        target, k = self.element(array), f"{name}k"
        self.typed[k] = "int"
        self.around.append(k)
        value = self.fitting(kind)
        self.around.pop()
        value = value if kind in FLOATS else f"({value}) % 100"
        used = rng.choice((f"{name}[{k}]", f"{name}[{length} - 1 - {k}]", f"({name}[0] - {name}[{k}])"))
        op = rng.choice(("+=", "-="))
        lines = [f"{kind} {name}[{length}];", f"for (int {k} = 0; {k} < {length}; {k}++) {name}[{k}] = {value};",
                 f"for (int {k} = {rng.choice('01')}; {k} < {length}; {k}++) {target} {op} {used};"]
        return [f"{indent}{{", *(f"{indent}    {line}" for line in lines), f"{indent}}}"]

    def fitting(self, kind: str) -> str:
        """A value that converts to the type as C defines it: what goes to integers has no float in it."""
        return self.expression(floats=kind in FLOATS)

    def expression(self, *, floats: bool, depth: int = 0) -> str:
        rng = self.rng
        if depth >= 2 or rng.random() < 0.3:
            return self.operand(floats=floats)
        one, other = (self.expression(floats=floats, depth=depth + 1) for _ in range(2))
        kind = rng.random()
        if kind < 0.55:
            return f"({one} {rng.choice(('+', '-'))} {other})"
        if kind < 0.65:
            return f"({one} * {self.operand(floats=True)})" if floats else f"({self.small()} * {self.small()})"
        if kind < 0.72:
            return f"({one} / {rng.choice(('7.0f', '0.75', '3')) if floats else rng.choice(('3', '7'))})"
        if kind < 0.8:
            return f"{rng.choice(('MIN', 'MAX'))}({one}, {other})"
        if kind < 0.86:
            return f"({self.condition()} ? {one} : {other})"
        if floats:
            return f"({rng.choice(('float', 'double', 'double'))})({one})"
        if kind < 0.92:
            return f"({rng.choice(('short', 'unsigned char', 'int', 'unsigned', 'long', 'signed char'))})({one})"
        return f"({self.small()} {rng.choice(('&', '|', '^', '>>'))} {rng.choice(('3', '1', '5'))})"

    def operand(self, *, floats: bool = False) -> str:
        rng = self.rng
        if rng.random() < 0.65:
            return self.load(floats=floats)
        if self.around and rng.random() < 0.4:
            return rng.choice(self.around)
        if floats:
            return rng.choice(("0.5", "1.5f", "2", "-3", "0.1", "0.1f", "(float)0.3", "'a'", "7u"))
        return rng.choice(("1", "2", "-3", "5u", "7L", "'b'", "(unsigned char)300", "~1", "!0", "n", "m"))

    def small(self) -> str:
        """An integer below 100 in size."""
        return self.rng.choice((self.load(), self.rng.choice(self.around), "13", "-7"))

    def load(self, *, floats: bool = False) -> str:
        kinds = [array for array in self.arrays if floats or array.type not in FLOATS]
        if not kinds:
            return self.rng.choice((*self.around, "n"))
        array = self.rng.choice(kinds)
        element = self.element(array)
        if array.type in FLOATS:
            return element
        return self.rng.choice((f"({element} % 100)", f"({element} & 15)"))

    def element(self, array: Storage) -> str:
        return array.element(tuple(self.subscript() for _ in range(array.rank)))

    def subscript(self) -> str:
        """Between 0 and the extent for loop variables from 0 to 35 and sizes of at most 33."""
        rng, one = self.rng, self.rng.choice(self.around)
        other = rng.choice(self.around)
        return rng.choice((one, one, one, f"{one} + 1", f"{one} + 3", f"2 * {one}", f"{one} + {other}", f"{one} / 2",
                           f"{one} % 4", f"n + 36 - {one}", f"{one} + n", "2"))
