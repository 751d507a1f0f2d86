"""Inline PTX as C++: the instructions that kernels use of it, on the functions of cuda_ptx_on_cpu.h.

>>> print(without_ptx('asm("popc.b32 %0, %1;" : "=r"(x) : "r"(y));').replace("; ", ";\\n"))
do { unsigned polysched_0;
const unsigned polysched_1 = polysched_ptx::as<unsigned>(y);
polysched_ptx::give(polysched_0, __popc(polysched_ptx::as<unsigned>(polysched_1)));
polysched_ptx::give(x, polysched_0);
} while (0);

InputError for an instruction that is not known here; it names the instruction and its line.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass

from polysched.errors import InputError
from polysched.runtime.emulated.line_markers import place_of


def without_ptx(text: str, file: str = "kernel.cu") -> str:
    """The text with its asm statements as C++; lines stay where they are."""
    parts, end = [], 0
    for found in _ASM.finditer(text):
        if found.start() < end or not found[1]:
            continue
        close = _closing(text, found.end() - 1)
        place = "{}:{}".format(*place_of(text, found.start(), file))
        statement = _statement(text[found.end() : close], place)
        lines = text.count("\n", found.start(), close)
        parts += [text[end : found.start()], statement, "\n" * lines]
        end = close + 1
    return "".join([*parts, text[end:]])


# A statement; comments and strings are matched first, so that none within them is.
_ASM = re.compile(
    r"//[^\n]*|/\*.*?\*/|\"(?:\\.|[^\"\\\n])*\"|'(?:\\.|[^'\\\n])*'|\b((?:__)?asm(?:__)?)\b(?:\s*(?:__)?volatile(?:__)?)?\s*\(",
    re.DOTALL,
)
_STRING = re.compile(r'"((?:\\.|[^"\\])*)"')
_CONSTRAINTS = {"r": "unsigned", "l": "unsigned long", "h": "unsigned short", "f": "float", "d": "double", "n": "int"}


def _statement(inside: str, place: str) -> str:
    """What stands between the parentheses, as C++: operands are copied, since PTX reads them before it writes."""
    sections = _split(inside, ":")
    code = "".join(_STRING.findall(sections[0])).replace("\\n", "\n").replace("\\t", " ").replace("\\", "")
    outputs, inputs = (_operands(section) for section in [*sections[1:], "", ""][:2])
    before, after = [], []
    for k, operand in enumerate([*outputs, *inputs]):
        found = re.fullmatch(r'\s*(?:\[\w+\]\s*)?"([=+&]*)(\w)"\s*\((.*)\)\s*', operand, re.DOTALL)
        if not found or found[2] not in _CONSTRAINTS:
            raise InputError(f"{place}: the asm operand '{operand.strip()}' is not known here")
        kind, value = _CONSTRAINTS[found[2]], " ".join(found[3].split())
        if k < len(outputs):
            start = f" = polysched_ptx::as<{kind}>({value})" if "+" in found[1] else ""
            before.append(f"{kind} polysched_{k}{start};")
            after.append(f"polysched_ptx::give({value}, polysched_{k});")
        else:
            before.append(f"const {kind} polysched_{k} = polysched_ptx::as<{kind}>({value});")
    body = " ".join(_instructions(code, place))
    return f"do {{ {' '.join([*before, body, *after])} }} while (0)"


def _operands(section: str) -> list[str]:
    """Nvcc takes them without commas, too."""
    return [part for part in _split(re.sub(r'\)\s*(?=["\[])', "), ", section), ",") if part.strip()]


def _instructions(code: str, place: str) -> Iterator[str]:
    plain = re.sub(r"//[^\n]*|/\*.*?\*/", " ", code, flags=re.DOTALL)
    if vector := re.search(r"[\w\]]\s*,?\s*(\{[^;{}]+\})", plain):
        raise InputError(f"{place}: PTX's vectors, as {vector[1]}, are not known here", hint=_HINT)
    for text in re.split(r"[;{}]", plain):
        words = text.split(None, 1)
        if not words:
            continue
        if words[0] == ".reg":
            yield _registers(words[1], place)
            continue
        guard = ""
        if words[0].startswith("@"):
            guard = f"if ({words[0][1:]}) "
            words = words[1].split(None, 1)
        operands = [_operand(it.strip(), place) for it in _split(words[1], ",")] if len(words) > 1 else []
        yield guard + _instruction(words[0], operands, place)


def _registers(text: str, place: str) -> str:
    """A declaration such as ".pred p, q"."""
    kind, names = text.split(None, 1)
    return f"{_type(kind[1:], place)} {names};"


def _operand(text: str, place: str) -> str:
    """As C++; an address "[%1 + 4]" as a number."""
    text = re.sub(r"%%(\w+(?:\.\w)?)|%(?!\d)(\w+(?:\.\w)?)", lambda found: _special(found[1] or found[2], place), text)
    text = re.sub(r"%(\d+)", r"polysched_\1", text)
    text = re.sub(r"\b0f([0-9A-Fa-f]{8})\b", r"polysched_ptx::as<float>(0x\1u)", text)
    return f"({text[1:-1]})" if text.startswith("[") else text


_SPECIAL = {
    "laneid": "polysched_ptx::lane()",
    "warpid": "polysched_ptx::warp()",
    "nwarpid": "((polysched::machine.count + 31) / 32)",
    "smid": "0u",
    "nsmid": "1u",
    "gridid": "0ul",
    "clock": "(unsigned)clock64()",
    "clock64": "(unsigned long)clock64()",
    "globaltimer": "(unsigned long)clock64()",
    "globaltimer_lo": "(unsigned)clock64()",
    "lanemask_eq": "(1u << polysched_ptx::lane())",
    "lanemask_lt": "((1u << polysched_ptx::lane()) - 1)",
    "lanemask_le": "((2u << polysched_ptx::lane()) - 1)",
    "lanemask_gt": "~((2u << polysched_ptx::lane()) - 1)",
    "lanemask_ge": "~((1u << polysched_ptx::lane()) - 1)",
    "WARP_SZ": "32",
    **{f"{ptx}.{axis}": f"{name}.{axis}" for axis in "xyz" for ptx, name in
       (("tid", "threadIdx"), ("ntid", "blockDim"), ("ctaid", "blockIdx"), ("nctaid", "gridDim"))},
}  # fmt: skip


def _special(name: str, place: str) -> str:
    if name not in _SPECIAL:
        raise InputError(f"{place}: the PTX register '%{name}' is not known here", hint=_HINT)
    return _SPECIAL[name]


_HINT = "write it in CUDA's words, or check the kernels without it"
_TYPES = {
    "pred": "bool", "b8": "unsigned char", "u8": "unsigned char", "s8": "signed char",
    "b16": "unsigned short", "u16": "unsigned short", "s16": "short",
    "b32": "unsigned", "u32": "unsigned", "s32": "int",
    "b64": "unsigned long", "u64": "unsigned long", "s64": "long", "f16": "__half", "f32": "float", "f64": "double",
}  # fmt: skip
_WIDE = {"unsigned": "unsigned long", "int": "long", "unsigned short": "unsigned", "short": "int"}


def _type(name: str, place: str) -> str:
    if name not in _TYPES:
        raise InputError(f"{place}: the PTX type '.{name}' is not known here", hint=_HINT)
    return _TYPES[name]


_FENCE = "polysched_check_fence()"
_ROUND = r"(?:\.(?:rn|rz|rm|rp|approx|full|ftz|sat))*"
_AT = (
    r"(?:\.(?:volatile|relaxed|acquire|release|acq_rel|weak|cta|gpu|sys|global|shared|local|const|param|"
    r"ca|cg|cs|cv|lu|wb|wt|nc|L[12]::\w+))*"
)
_TYPED = r"\.(?P<t>\w+)"
# Instructions, and what each is; {t} is the type, {0} is what it writes, {1} and so on are read as that type.
_KNOWN = [(re.compile(pattern), meaning) for pattern, meaning in (
    (rf"(?:mov|cvta(?:\.to)?(?:\.global|\.shared|\.local|\.const)?){_TYPED}", "{1}"),
    (rf"(?:add|add\.cc){_ROUND}{_TYPED}", "{1} + {2}"),
    (rf"sub{_ROUND}{_TYPED}", "{1} - {2}"),
    (rf"mul{_ROUND}(?:\.lo)?{_TYPED}", "{1} * {2}"),
    (rf"mul\.hi{_TYPED}", "polysched_ptx::high({1}, {2})"),
    (rf"mul\.wide{_TYPED}", "({w}){1} * ({w}){2}"),
    (rf"mul24\.lo{_TYPED}", "{1} * {2}"),
    (rf"mad(?:\.lo)?{_TYPED}", "{1} * {2} + {3}"),
    (rf"mad\.wide{_TYPED}", "({w}){1} * ({w}){2} + ({w})({3!r})"),
    (rf"fma{_ROUND}{_TYPED}", "polysched_ptx::fma({1}, {2}, {3})"),
    (rf"div{_ROUND}{_TYPED}", "{1} / {2}"),
    (rf"rem{_TYPED}", "{1} % {2}"),
    (rf"(?P<op>min|max){_ROUND}{_TYPED}", "{op}({1}, {2})"),
    (rf"abs{_ROUND}{_TYPED}", "{1} < 0 ? -{1} : {1}"),
    (rf"neg{_ROUND}{_TYPED}", "-{1}"),
    (rf"(?P<op>and|or|xor){_TYPED}", "{1} {op} {2}"),
    (r"not\.(?P<t>pred)", "!{1}"),
    (rf"not{_TYPED}", "~{1}"),
    (rf"(?P<op>sh[lr]){_TYPED}", "polysched_ptx::{op}({1}, {2!r})"),
    (rf"shf\.(?P<op>[lr])\.(?P<mode>wrap|clamp){_TYPED}", "polysched_ptx::shf_{op}_{mode}({1}, {2}, {3})"),
    (rf"bfind{_TYPED}", "polysched_ptx::bfind({1})"),
    (rf"bfind\.shiftamt{_TYPED}", "polysched_ptx::bfind_shift({1})"),
    (rf"bfe{_TYPED}", "polysched_ptx::bfe<{t}>({1}, {2!r}, {3!r})"),
    (rf"bfi{_TYPED}", "polysched_ptx::bfi<{t}>({1}, {2}, {3!r}, {4!r})"),
    (rf"lop3{_TYPED}", "polysched_ptx::lop3({1}, {2}, {3}, {4})"),
    (rf"prmt{_TYPED}", "__byte_perm({1}, {2}, {3})"),
    (r"(?P<op>brev|popc|clz)\.(?P<t>b32)", "__{op}({1})"),
    (r"(?P<op>brev|popc|clz)\.(?P<t>b64)", "__{op}ll({1})"),
    (r"dp4a\.(?P<t>s32|u32)\.\w+", "__dp4a({1}, {2}, {3})"),
    (rf"selp{_TYPED}", "({3!r}) ? {1} : {2}"),
    (rf"setp\.(?P<op>eq|ne|lt|le|gt|ge|lo|ls|hi|hs){_TYPED}", "{1} {op} {2}"),
    (rf"set\.(?P<op>eq|ne|lt|le|gt|ge)\.\w+{_TYPED}", "{1} {op} {2} ? ~0u : 0"),
    (rf"cvt(?:\.rn|\.rzi)?\.(?P<to>\w+){_TYPED}", "({to}){1}"),
    (rf"cvt\.(?P<op>rni|rmi|rpi)\.(?P<to>\w+){_TYPED}", "({to})__builtin_{op}({1})"),
    (rf"rcp{_ROUND}{_TYPED}", "1 / {1}"),
    (rf"sqrt{_ROUND}{_TYPED}", "polysched_ptx::sqrt({1})"),
    (rf"rsqrt{_ROUND}{_TYPED}", "1 / polysched_ptx::sqrt({1})"),
    (rf"(?P<op>ex2|lg2|sin|cos|tanh){_ROUND}{_TYPED}", "__builtin_{op}f({1})"),
    (rf"(?:ld|ldu){_AT}{_TYPED}", "*(const {t} *)({1!r})"),
    (rf"atom{_AT}\.(?P<op>add|inc|exch){_AT}{_TYPED}", "atomic{op}(({t} *)({1!r}), {2})"),
    (rf"atom{_AT}\.cas{_AT}{_TYPED}", "atomicCAS(({t} *)({1!r}), {2}, {3})"),
)]  # fmt: skip
# Those that write no register.
_EFFECTS = [(re.compile(pattern), meaning) for pattern, meaning in (
    (rf"st{_AT}{_TYPED}", "*({t} *)({0!r}) = polysched_ptx::as<{t}>({1!r})"),
    (rf"red{_AT}\.add{_AT}{_TYPED}", "atomicAdd(({t} *)({0!r}), polysched_ptx::as<{t}>({1!r}))"),
    (r"membar\.(?:gl|sys)|fence(?:\.acq_rel|\.sc)?\.(?:gpu|sys)", _FENCE),
    (r"membar\.cta|fence(?:\.acq_rel|\.sc)?\.cta|prefetchu?(?:\.\w+)*|nanosleep\.u32", "(void)0"),
    (r"(?:bar|barrier(?:\.cta)?)\.sync(?:\.aligned)?", "polysched_ptx::bar({0!r}); __syncthreads()"),
    (r"bar\.warp\.sync", "__syncwarp({0!r})"),
    (r"trap", "__trap()"),
)]  # fmt: skip
# What the part of a name that tells instructions apart is in C++, where it is called otherwise.
_OPERATIONS = {
    "eq": "==", "ne": "!=", "lt": "<", "le": "<=", "gt": ">", "ge": ">=", "lo": "<", "ls": "<=", "hi": ">", "hs": ">=",
    "and": "&", "or": "|", "xor": "^", "rni": "rint", "rmi": "floor", "rpi": "ceil", "ex2": "exp2", "lg2": "log2",
    "add": "Add", "inc": "Inc", "exch": "Exch",
}  # fmt: skip


@dataclass(frozen=True)
class _Read:
    """An operand: as its type, or with !r as it is."""

    text: str
    kind: str

    def __str__(self) -> str:
        return f"polysched_ptx::as<{self.kind}>({self.text})" if self.kind else self.text

    def __repr__(self) -> str:
        return self.text


def _instruction(name: str, operands: list[str], place: str) -> str:
    for table, writes in ((_KNOWN, True), (_EFFECTS, False)):
        for pattern, meaning in table:
            if not (found := pattern.fullmatch(name)):
                continue
            groups = found.groupdict()
            kind = _type(groups["t"], place) if groups.get("t") else ""
            read = [_Read(operand, kind) for operand in operands]
            words = {"t": kind, "w": _WIDE.get(kind, kind), "mode": groups.get("mode")}
            words["to"] = _type(groups["to"], place) if "to" in groups else None
            words["op"] = _OPERATIONS.get(groups.get("op") or "", groups.get("op"))
            try:
                value = meaning.format(*read, **words)
            except IndexError:
                break
            return f"polysched_ptx::give({operands[0]}, {value});" if writes else f"{value};"
    raise InputError(f"{place}: the PTX instruction '{name}' is not known here", hint=_HINT)


def _split(text: str, by: str) -> list[str]:
    """At the separators that are in no parentheses, brackets or strings."""
    parts, depth, start = [], 0, 0
    for found in re.finditer(r'"(?:\\.|[^"\\])*"|.', text, re.DOTALL):
        depth += {"(": 1, "[": 1, ")": -1, "]": -1}.get(found[0], 0)
        if found[0] == by and depth == 0:
            parts.append(text[start : found.start()])
            start = found.end()
    return [*parts, text[start:]]


def _closing(text: str, opening: int) -> int:
    depth = 0
    for found in re.compile(r'"(?:\\.|[^"\\])*"|[()]').finditer(text, opening):
        depth += {"(": 1, ")": -1}.get(found[0], 0)
        if depth == 0:
            return found.start()
    raise InputError("an asm statement does not end")
