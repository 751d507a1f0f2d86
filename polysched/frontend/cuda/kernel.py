"""A kernel as its file declares it: name, template, parameters."""

from __future__ import annotations

from dataclasses import dataclass

from clang.cindex import Cursor, CursorKind, TypeKind

from polysched.errors import Loc
from polysched.frontend.cuda.tokens import identifiers


@dataclass(frozen=True)
class Parameter:
    """One of a kernel's, or a variable of the device that can be given like one."""

    name: str
    type: str  # as declared: "const float *"
    is_pointer: bool = False
    element: str = ""  # what it is, or points to: "f32"; "" of a struct
    is_empty: bool = False  # constant memory that the text does not fill


@dataclass(frozen=True)
class Kernel:
    """What can be launched; of a template, with arguments for `template`."""

    name: str
    qualified: str  # with its namespaces: "space::f"
    template: tuple[str, ...]  # as declared: "class T", "int N = 4"
    parameters: tuple[Parameter, ...]
    is_dynamic: bool  # does its text have an `extern __shared__` array?
    loc: Loc

    def __str__(self) -> str:
        template = f"template <{', '.join(self.template)}> " if self.template else ""
        given = ", ".join(f"{it.type}{'' if it.type.endswith(('*', '&')) else ' '}{it.name}" for it in self.parameters)
        return f"{template}{self.name}({given})"

    @property
    def example(self) -> str:
        """How one of the template's kernels may be called: "f<float, 16>"."""
        arguments = [_example(parameter) for parameter in self.template if "=" not in parameter]
        return f"{self.name}<{', '.join(arguments)}>" if self.template else self.name


def kernel_of(cursor: Cursor, text: bytes, loc: Loc) -> Kernel:
    """The kernel at clang's cursor, which is in this text."""
    children = list(cursor.get_children())
    parameters = [child for child in children if child.kind == CursorKind.PARM_DECL]
    template = [
        text[child.extent.start.offset : child.extent.end.offset].decode() for child in children if child.kind in _TEMPLATE
    ]
    return Kernel(
        name=cursor.spelling,
        qualified="::".join((*_namespaces(cursor), cursor.spelling)),
        template=tuple(" ".join(it.split()) for it in template),
        parameters=tuple(parameter_of(it, it.spelling or f"parameter{k}") for k, it in enumerate(parameters, 1)),
        is_dynamic="extern" in identifiers(text, cursor.extent.start.offset, cursor.extent.end.offset),
        loc=loc,
    )


def parameter_of(cursor: Cursor, name: str) -> Parameter:
    """The parameter or variable that the cursor declares."""
    kind = cursor.type.get_canonical()
    pointer = kind.kind == TypeKind.POINTER
    inner = kind.get_pointee() if pointer else kind
    while inner.kind in (TypeKind.CONSTANTARRAY, TypeKind.INCOMPLETEARRAY):
        inner = inner.element_type
    return Parameter(name, cursor.type.spelling, pointer, _ELEMENTS.get(inner.get_canonical().kind, ""))


_TEMPLATE = (
    CursorKind.TEMPLATE_TYPE_PARAMETER,
    CursorKind.TEMPLATE_NON_TYPE_PARAMETER,
    CursorKind.TEMPLATE_TEMPLATE_PARAMETER,
)
_ELEMENTS = {
    TypeKind.FLOAT: "f32",
    TypeKind.DOUBLE: "f64",
    TypeKind.BOOL: "bool",
    TypeKind.CHAR_S: "i8",
    TypeKind.SCHAR: "i8",
    TypeKind.CHAR_U: "u8",
    TypeKind.UCHAR: "u8",
    TypeKind.SHORT: "i16",
    TypeKind.USHORT: "u16",
    TypeKind.INT: "i32",
    TypeKind.UINT: "u32",
    TypeKind.LONG: "i64",
    TypeKind.ULONG: "u64",
    TypeKind.LONGLONG: "i64",
    TypeKind.ULONGLONG: "u64",
}


def _namespaces(cursor: Cursor) -> list[str]:
    found: list[str] = []
    scope = cursor.semantic_parent
    while scope is not None and scope.kind == CursorKind.NAMESPACE:
        found[:0] = [scope.spelling] if scope.spelling and "(" not in scope.spelling else []
        scope = scope.semantic_parent
    return found


def _example(parameter: str) -> str:
    kind = parameter.split()[0]
    return {"class": "float", "typename": "float", "bool": "true"}.get(kind, "16")
