"""Prints a kernel in place of the C statements that it was made from, which stay for the calls it is not right for.

    #pragma scop                          #pragma scop
    for (i = 0; i < n; i++)               {
        A[i] = B[i];                          const long long n_ = n;
    #pragma endscop                           if (n >= 0 && apart(A, n_, B, n_)) {
                                   ->             double *restrict A_ = A;
                                                  const double *restrict B_ = B;
                                                  #pragma omp parallel for schedule(static)
                                                  for (long long c0 = 0; c0 < n_; c0++) {
                                                      A_[c0] = B_[c0];
                                                  }
                                              } else {
                                          for (i = 0; i < n; i++)
                                              A[i] = B[i];
                                              }
                                          }
                                          #pragma endscop

The text is a block of C99, so it needs no header and no function before it: types are C's own, and what C has no
operator for is a macro of the block. Generated names differ from all of the file, headers included. Nothing depends on
compiler flags such as -fwrapv: what could overflow is computed unsigned.

A body on threads is a function of its own to compilers, and entering it takes a microsecond even on one thread. So a
small loop is there twice, to run where there is one thread as any other loop. What is an array in C is reached by its
own name: of that, compilers know that all of it may be stored to, so that they make conditional stores SIMD.

Needs: arrays have at most one dimension (`linearize`). To be compiled by gcc or clang.
"""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Iterator
from dataclasses import replace
from itertools import combinations
from string import Template
from types import MappingProxyType

from polysched.codegen.emit import helpers
from polysched.codegen.emit.block.ends import goes_while
from polysched.codegen.emit.block.macros import APART, MACROS
from polysched.codegen.emit.block.rows import declared_rows
from polysched.codegen.emit.dialect import CUDA, C
from polysched.codegen.emit.gcc.dot_rows import LOCALS, DotRow, added_dots, dot_of
from polysched.codegen.emit.names import RESERVED, Names
from polysched.codegen.emit.printer import Printer
from polysched.codegen.emit.source import parameters
from polysched.codegen.emit.spelling import BINDING, PRIMARY
from polysched.codegen.parallel.threads import known
from polysched.config.heuristics.code import COPIED_STATEMENTS
from polysched.errors import InputError
from polysched.frontend.c.region import Expansion, Region
from polysched.ir.build import conjunction
from polysched.ir.dtypes import ALL, DType, boolean, f16, i32, i64, u32
from polysched.ir.node import flattened, statements, walk
from polysched.ir.nodes import ENDLESS, PARALLEL, Array, Call, Const, Expr, For, Function, Stmt
from polysched.model.affine import condition
from polysched.support import isl
from polysched.support.version import __version__

_NARROW = {"bool": "_Bool", "i8": "signed char", "u8": "unsigned char", "i16": "short", "u16": "unsigned short"}
_WIDE = {"i32": "int", "u32": "unsigned", "i64": "long long", "u64": "unsigned long long"}
_TYPES = MappingProxyType({**C.types, **_NARROW, **_WIDE})
_LEAST = MappingProxyType({"i32": "(-2147483647 - 1)", "i64": "(-9223372036854775807ll - 1)"})
_DIALECT = replace(
    C, name="a C block", types=_TYPES, least=_LEAST, signed_wraps=False, zero_divisor="", hides_zeros=False
)

_IN_QUOTES = str.maketrans({'"': "'", "\\": "/", "\n": " "})
_OTHER_BUILD = "has another branch in this build: run polysched opt again, with the -D and -U of this build"
_WIDTH = 105  # of the lines of a condition


def emit_region(
    kernel: Function,
    region: Region,
    valid_sizes: isl.Set,
    *,
    only_on_threads: bool = False,
    when: tuple[Expr, ...] = (),
    openmp: str = "_OPENMP",
) -> tuple[str, str]:
    """The lines before and after the region's own text, which make that the other branch of an `if`.

    `kernel` is what became of the region's nest; its accesses are in bounds for `valid_sizes`, { : ... }.
    `only_on_threads` leaves calls to the region's own text that would run it on one thread, as calls are left for which
    `when`, of sizes, is not true. `openmp` is the macro that says that there are threads.
    """
    given, made = (_endless(fn) for fn in (region.function, kernel))
    if len(given) > len(made) or any(goes_while(loop) is None for loop in made):
        hint = "keep it out of the region"
        raise InputError("a loop that data ends has become one without an end", given[0].loc, hint)
    block = _Block(kernel, region, only_on_threads=only_on_threads)
    block.when, block.openmp = when, openmp
    return block.wrap(valid_sizes)


def _endless(fn: Function) -> list[For]:
    """Loops that a flag ends."""
    return [node for node in walk(fn.body) if isinstance(node, For) and node.hi == Const(ENDLESS)]


def emit_call(
    kernel: Function, region: Region, valid_sizes: isl.Set, entry: str, *, in_cuda: bool = False
) -> tuple[str, str]:
    """As `emit_region`, but the kernel is behind a function that returns 0 if it has run, and else has changed nothing.

    It takes the parameters of `kernel`: arrays as void *, sizes as long long; `in_cuda`, as emit_cuda_file has it in
    the same file.
    """
    return _Call(kernel, region, entry, in_cuda).wrap(valid_sizes)


class _Block(Printer):
    """Prints the block from the inside out: what is declared depends on what is used."""

    def __init__(self, kernel: Function, region: Region, *, only_on_threads: bool = False):
        # what stays as it is reaches arrays by their own names, too
        super().__init__(kernel, replace(_DIALECT, restrict="") if region.texts else _DIALECT)
        self.region, self.only_on_threads = region, only_on_threads
        fresh = Names(region.taken).fresh
        self.macros = {name: fresh(name) for name in sorted({*helpers.NAMES, "apart", "same", "text", "threads"})}
        self.names = Names(RESERVED | region.taken | set(self.macros.values()))
        self.needs_apart = self.needs_same = self.needs_threads = False
        self.threaded = loops_on_threads(kernel)
        self.when: tuple[Expr, ...] = ()
        self.openmp = "_OPENMP"

    def wrap(self, valid_sizes: isl.Set) -> tuple[str, str]:
        body = self.printed(2, self.kernel)
        tests = list(self.tests(valid_sizes))
        locals_ = self.printed(2, self.declare_locals)
        rows = self.printed(1, self.declare_rows)
        sizes = self.printed(1, self.declare_sizes)
        begin = self.printed(0, lambda: self.begin(body))
        condition = self.printed(1, lambda: self.condition(tests))
        end = self.printed(0, lambda: self.end(body))
        before = [*begin, *rows, *sizes, *condition, *locals_, *body, "    } else {"]
        self.require_keywords(before)
        return self.indented(before), self.indented(["    }", *end])

    def require_keywords(self, lines: list[str]) -> None:
        """InputError if a macro of the user's replaces a word of the text."""
        words = set(re.findall(r"\w+", "\n".join(lines)))
        for word, loc in self.region.replaced.items():
            if word in words:
                message = f"'{word}' is a macro, and the kernel needs the keyword"
                raise InputError(message, loc, f"put #undef {word} before the region, or give the macro another name")

    def printed(self, depth: int, prints: Callable[[], None]) -> list[str]:
        """The lines that `prints` adds."""
        self.depth, self.lines = depth, []
        prints()
        return self.lines

    def indented(self, lines: list[str]) -> str:
        return "".join(f"{self.region.indent}{line}\n" for line in lines)

    def kernel(self) -> None:
        self.block(self.fn.body)

    def loop(self, loop: For) -> None:
        """A small parallel loop twice: on threads, and for one."""
        if loop.kind not in PARALLEL or not self.pragma(loop):
            super().loop(loop)
            return
        if known(loop.when) is False:
            super().loop(replace(loop, kind=_kind_on_one_thread(loop), when=()))
            return
        is_small = sum(isinstance(node, Stmt) for node in walk(loop)) <= COPIED_STATEMENTS
        if self.only_on_threads or not is_small:
            is_tested = self.only_on_threads and len(self.threaded) == 1
            super().loop(replace(loop, when=()) if is_tested else loop)
            return
        self.open(f"if ({' && '.join((*self.worth(loop), self.several_threads()))})")
        super().loop(replace(loop, when=()))
        self.reopen("} else")
        super().loop(replace(loop, kind=_kind_on_one_thread(loop), when=()))
        self.close()

    def worth(self, loop: For) -> tuple[str, ...]:
        """When the loop is worth its threads; nothing if it always is."""
        return () if known(loop.when) else (self.expr(conjunction(loop.when), BINDING["|"]),)

    def several_threads(self) -> str:
        self.needs_threads = True
        return f"{self.macros['threads']} > 1"

    def element(self, array: str, index: tuple[Expr, ...]) -> str:
        text = super().element(array, index)
        if array not in self.region.named:
            return text
        place = self.region.expressions[array]
        if not self.arrays[array].shape:
            return place.removeprefix("&")
        own = place if place.isidentifier() else f"({place})"
        return f"{own}[{self.expr(index[0])}]"

    # --- when the kernel is right

    def tests(self, valid_sizes: isl.Set) -> Iterator[str]:
        """What must hold, each a condition in C; the assumptions are about the sizes as the user has them."""
        yield from self.assumed()
        yield from (self.expr(test, BINDING["|"]) for test in self.when)
        for test in flattened(condition(valid_sizes.gist(self.assumed_signs())), "&&"):
            if test != Const(True, boolean):
                yield self.expr(test, BINDING["|"])
        for one, other in combinations([array for array in self.fn.arrays if array.name in self.names], 2):
            if self.region.may_overlap(one.name, other.name, self.written):
                self.needs_apart = True
                yield f"{self.macros['apart']}({self.place(one)}, {self.place(other)})"
        for place, writer in self.region.fixed:
            if writer in self.names:
                self.needs_apart = True
                yield f"{self.macros['apart']}(&{place}, 1, {self.place(self.arrays[writer])})"
        if self.only_on_threads:
            worth = [self.worth(loop) for loop in self.threaded]
            if all(worth):
                tests = list(dict.fromkeys(test for each in worth for test in each))
                yield tests[0] if len(tests) == 1 else f"({' || '.join(tests)})"
            yield self.several_threads()

    def assumed(self) -> Iterator[str]:
        """What can be tested by the names of the text alone, and of rows of pointers."""
        for macro in self.region.macros:
            self.needs_same = self.needs_same or not macro.is_number
            yield self.has_stayed(macro)
        for assumption in self.region.assumptions:
            yield f"({assumption})" if "||" in assumption or "?" in assumption else assumption

    def has_stayed(self, macro: Expansion) -> str:
        """Does it stand for what it stood for?"""
        text, meaning = macro.text, macro.meaning
        if macro.is_number:
            return f"({text}) == ({meaning}) && sizeof({text}) == sizeof({meaning})"
        return f"{self.macros['same']}({meaning}, {text})"

    def assumed_signs(self) -> isl.Set:
        """{ : n >= 0 } for all sizes n of which it is assumed."""
        texts = self.region.expressions
        signs = [f"{size} >= 0" for size in self.fn.sizes if f"{texts[size]} >= 0" in self.region.assumptions]
        return isl.Set(f"[{', '.join(self.fn.sizes)}] -> {{ : {' and '.join(signs) or 'true'} }}")

    def place(self, array: Array) -> str:
        """Where an array begins, and its number of elements."""
        return f"{self.region.expressions[array.name]}, {self.expr(self.extent(array))}"

    def condition(self, tests: list[str]) -> None:
        row = "if ("
        for k, test in enumerate(tests or ["1"]):
            if k and len(row) + len(test) > _WIDTH:
                self.line(f"{row} &&")
                row = "    " + test
            else:
                row += f" && {test}" if k else test
        self.line(f"{row}) {{")

    # --- what it declares

    def declare_rows(self) -> None:
        if self.region.outside:
            self.line(f"long long {self.region.outside} = 0;")
        for line in self.region.declared:
            self.line(line)
        distances = {name for rows in self.region.rows for name in rows.distances.values()}
        tests = [test for test in self.assumed() if distances.isdisjoint(re.findall(r"\w+", test))]
        tests += [self.several_threads()] if self.only_on_threads and self.region.rows else []
        for rows in self.region.rows:
            self.lines += ["    " + line for line in declared_rows(rows, tests, self.names.fresh)]

    def declare_sizes(self) -> None:
        for name in self.fn.sizes:
            if name in self.names:
                self.line(f"const {self.type(i64)} {self.names(name)} = {self.region.expressions[name]};")

    def declare_locals(self) -> None:
        for scalar in self.fn.scalars:
            if scalar.name in self.names:
                value = self.region.expressions[scalar.name]
                self.line(f"const {self.type(scalar.dtype)} {self.names(scalar.name)} = {value};")
        for array in self.fn.arrays:
            if array.name in self.names and array.name not in self.region.named:
                self.line(f"{self.pointer(array)} = {self.of_its_type(array)}{self.region.expressions[array.name]};")
        if "stdlib.h" in self.includes:
            self.line("extern void *malloc(__SIZE_TYPE__), free(void *), abort(void);")

    def of_its_type(self, array: Array) -> str:
        """Where macros may have made it another type, this is compiled, too, and not run."""
        if not (array.dtype.is_float and self.region.macros):
            return ""
        return f"({'' if array.name in self.written else 'const '}{self.type(array.dtype)} *)"

    def pointer(self, array: Array) -> str:
        """A pointer to the user's own type: C's `long` and `long long` must not stand for each other."""
        if array.dtype.is_float:
            return super().pointer(array)
        const, place = "" if array.name in self.written else "const ", self.region.expressions[array.name]
        element = place[1:] if place.startswith("&") else f"*{place}" if place.isidentifier() else f"*({place})"
        return f"{const}__typeof__({element}) *{self.dialect.restrict} {self.names(array.name)}"

    # --- around it

    def begin(self, body: list[str]) -> None:
        self.line(f"/* {self.region.function.name}: generated by polysched {__version__}, with the text as it was */")
        self.line("{")  # before the directives: the region may be what an `if` without braces guards
        for held in self.region.conditions:
            self.line(f"#if !({held.test})")
            self.line(f'#error "{held.place.translate(_IN_QUOTES)} {_OTHER_BUILD}"')
            self.line("#endif")
        if _has_pragmas(body):
            self.line("#pragma GCC diagnostic push")
            self.line('#pragma GCC diagnostic ignored "-Wunknown-pragmas"')
        if self.needs_threads:
            self.line(f"#ifdef {self.openmp}")
            self.line("extern int (omp_get_max_threads)(void);")  # in brackets it is no macro of that name
            self.line(f"#define {self.macros['threads']} (omp_get_max_threads)()")
            self.line("#else")
            self.line(f"#define {self.macros['threads']} 1")
            self.line("#endif")
        for name, (operands, *text) in self.definitions():
            separator = " \\\n    " if len(text) > 1 else " "
            for line in separator.join([f"#define {name}{operands}", *text]).split("\n"):
                self.line(line)

    def end(self, body: list[str]) -> None:
        if self.needs_threads:
            self.line(f"#undef {self.macros['threads']}")
        for name, _ in self.definitions():
            self.line(f"#undef {name}")
        if _has_pragmas(body):
            self.line("#pragma GCC diagnostic pop")
        self.line("}")

    def definitions(self) -> Iterator[tuple[str, tuple[str, ...]]]:
        """The macros that the block uses; their parameters, and the lines that they stand for."""
        if self.needs_same:
            yield self.macros["text"], ("(...)", "#__VA_ARGS__")
            yield self.macros["same"], ("(as, ...)", f"(__builtin_strcmp(as, {self.macros['text']}(__VA_ARGS__)) == 0)")
        if self.needs_apart:
            yield self.macros["apart"], APART
        for name, (count, text) in self.region.calls.items():
            first, *operands = self.operands(["w", *(f"a{k}" for k in range(count))])
            yield name, (f"({', '.join([first, *operands])})", text.format(*operands))
        for dtype in ALL.values():
            types = {"T": self.type(dtype), "U": self.type(ALL[f"u{dtype.bits}"]), "wide": "(float)" * (dtype == f16)}
            for op, texts in MACROS.items():
                if (op, dtype) in self.helpers:
                    lines = tuple(Template(text).substitute(types) for text in texts)
                    yield self.macros[helpers.name_of(op, dtype)], lines

    def operands(self, wished: list[str]) -> list[str]:
        """Names of a macro's parameters, which no statement in it has."""
        fresh = Names(self.region.taken).fresh
        return [fresh(name) for name in wished] if self.region.texts else wished

    # --- what has no header here

    def add_dots(self, row: DotRow) -> None:
        """The lines of the function that other texts have, in place: names of theirs hide none of the operands'."""
        of = {name: self.names.fresh(name) for name in LOCALS}
        unsigned, signed = self.type(u32), self.type(i32)
        sums, columns = self.element(row.sums, (row.first,)), self.element(row.columns, (row.begin,))
        self.open("")
        self.line(f"{signed} *const {of['sums']} = &{sums};")
        self.line(f"const {signed} {of['a']} = {self.expr(row.factor)}, *const {of['b']} = &{columns};")
        self.line(f"const {signed} {of['count']} = {row.count};")
        for line in added_dots(row.helper, unsigned, signed, self.helper(dot_of(row.helper), i32), of):
            self.line(line)
        self.close()

    def call(self, expr: Call) -> tuple[str, int]:
        if expr.fn in self.region.calls:
            return f"{expr.fn}({', '.join(map(self.expr, expr.args))})", PRIMARY
        return super().call(expr)

    def helper(self, op: str, dtype: DType) -> str:
        assert op in MACROS, f"a block has no function for {op}"
        return self.macros[super().helper(op, dtype)]

    def constant(self, value: int | float | bool, dtype: DType) -> str:
        if dtype.kind == "b":
            return "1" if value else "0"
        if dtype.is_float and not math.isfinite(value):
            text = '__builtin_nan("")' if math.isnan(value) else "__builtin_inf()"
            return f"({self.type(dtype)}){'-' if value < 0 else ''}{text}"
        return super().constant(value, dtype)


class _Call(_Block):
    """Prints a block around a call; `in_cuda` it is C++, behind the definition of what it calls."""

    def __init__(self, kernel: Function, region: Region, entry: str, in_cuda: bool):
        super().__init__(kernel, region)
        self.entry, self.in_cuda = f"polysched::{entry}" if in_cuda else entry, in_cuda
        self.passed = [(name, self.names(name)) for name in parameters(kernel)]

    def kernel(self) -> None:
        self.line(f"/* {self.entry} has run it. */")

    def tests(self, valid_sizes: isl.Set) -> Iterator[str]:
        yield from super().tests(valid_sizes)
        yield f"{self.entry}({', '.join(self.passed_value(*each) for each in self.passed)}) == 0"

    def passed_value(self, name: str, local: str) -> str:
        if name in self.fn.sizes:
            return local
        value = self.region.expressions[name]
        is_cast = self.in_cuda and name in self.arrays
        return f"({CUDA.types[self.arrays[name].dtype.name]} *)({value})" if is_cast else value

    def declare_sizes(self) -> None:
        super().declare_sizes()
        if not self.in_cuda:
            self.listing(f"extern int {self.entry}", [self.parameter(name) for name, _ in self.passed], ";")

    def declare_locals(self) -> None:
        pass

    def pointer(self, array: Array) -> str:
        return f"{'' if array.name in self.written else 'const '}void *{self.names(array.name)}"


def loops_on_threads(kernel: Function) -> list[For]:
    """The parallel loops that may have enough work for threads."""
    loops = (node for node in statements(kernel.body) if isinstance(node, For) and node.kind in PARALLEL)
    return [loop for loop in loops if known(loop.when) is not False]


def _kind_on_one_thread(loop: For) -> str:
    """SIMD where the loop is innermost: compilers may not see that its iterations are independent."""
    return "serial" if any(isinstance(node, For | Call) for node in walk(loop.body)) else "vector"


def _has_pragmas(lines: list[str]) -> bool:
    return any(line.lstrip().startswith("#pragma") for line in lines)
