"""A kernel as its file declares it: name, template, parameters."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from clang.cindex import Cursor, CursorKind, Type, TypeKind

from polysched.errors import Loc
from polysched.frontend.c.types import dtype_of


@dataclass(frozen=True)
class Parameter:
    """One of a kernel's, or a variable of the device that can be given like one."""

    name: str
    type: str  # as declared: "const float *"
    is_pointer: bool = False
    dtype: np.dtype | None = None  # of what it is, or points to; None: of the template, or unknown
    is_empty: bool = False  # constant memory that the text does not fill
    is_deep: bool = False  # points to pointers


@dataclass(frozen=True)
class Kernel:
    """What can be launched; of a template, with arguments for `template`."""

    name: str
    qualified: str  # with its namespaces: "space::f"
    template: tuple[str, ...]  # as declared: "class T", "int N = 4"
    parameters: tuple[Parameter, ...]
    loc: Loc
    arguments: str = ""  # for the template: "float, 16"

    def __str__(self) -> str:
        template = f"template <{', '.join(self.template)}> " if self.template else ""
        given = ", ".join(f"{it.type}{'' if it.type.endswith(('*', '&')) else ' '}{it.name}" for it in self.parameters)
        return f"{template}{self.name}({given})"

    @property
    def example(self) -> str:
        """How one of the template's kernels may be called: "f<float, 16>"."""
        kinds = [parameter.split()[0] for parameter in self.template if "=" not in parameter]
        arguments = [{"class": "float", "typename": "float", "bool": "true"}.get(kind, "16") for kind in kinds]
        return f"{self.name}<{', '.join(arguments)}>" if self.template else self.name


def kernel_of(cursor: Cursor, text: bytes, loc: Loc) -> Kernel:
    """The kernel at clang's cursor, which is in this text."""
    children = list(cursor.get_children())
    parameters = [child for child in children if child.kind == CursorKind.PARM_DECL]
    extents = [child.extent for child in children if child.kind in _TEMPLATE]
    template = [text[it.start.offset : it.end.offset].decode(errors="replace") for it in extents]
    return Kernel(
        name=cursor.spelling,
        qualified=qualified(cursor),
        template=tuple(" ".join(it.split()) for it in template),
        parameters=tuple(parameter_of(it, it.spelling or f"parameter{k}") for k, it in enumerate(parameters, 1)),
        loc=loc,
    )


def parameter_of(cursor: Cursor, name: str) -> Parameter:
    """The parameter or variable that the cursor declares."""
    kind = cursor.type.get_canonical()
    pointer = kind.kind == TypeKind.POINTER
    inner = kind.get_pointee().get_canonical() if pointer else kind
    while inner.kind in _ARRAYS:
        inner = inner.element_type
    deep = pointer and inner.kind == TypeKind.POINTER
    return Parameter(name, cursor.type.spelling, pointer, _dtype(inner), is_deep=deep)


_TEMPLATE = (
    CursorKind.TEMPLATE_TYPE_PARAMETER,
    CursorKind.TEMPLATE_NON_TYPE_PARAMETER,
    CursorKind.TEMPLATE_TEMPLATE_PARAMETER,
)
_ARRAYS = (TypeKind.CONSTANTARRAY, TypeKind.INCOMPLETEARRAY)
_HALVES = {"__half": "float16", "__half2": "(2,)float16", "__nv_bfloat16": "uint16"}


def _dtype(kind: Type) -> np.dtype | None:
    """What numpy calls it, structs field by field; what it has no word for is bytes."""
    kind, size = kind.get_canonical(), kind.get_size()
    if name := _HALVES.get(kind.spelling.removeprefix("const ")):
        return np.dtype(name)
    if kind.kind != TypeKind.ENUM and (number := dtype_of(kind)) is not None:
        return np.dtype(number.numpy)
    if kind.kind == TypeKind.CONSTANTARRAY and (inner := _dtype(kind.element_type)) is not None:
        return np.dtype((inner, (kind.element_count,)))
    if kind.kind == TypeKind.RECORD and size > 0:
        members = list(kind.get_fields())
        fields = [(field.spelling, _dtype(field.type), field.get_field_offsetof() // 8) for field in members]
        is_bits = any(field.is_bitfield() for field in members)
        if not is_bits and all(name and dtype is not None for name, dtype, _ in fields):
            names, formats, offsets = zip(*fields, strict=True) if fields else ((), (), ())
            return np.dtype({"names": names, "formats": formats, "offsets": offsets, "itemsize": size})
    is_of_bytes = size > 0 and kind.kind in (TypeKind.RECORD, TypeKind.ENUM, TypeKind.POINTER)
    return np.dtype(f"V{size}") if is_of_bytes else None


def qualified(cursor: Cursor) -> str:
    """Its name with its namespaces."""
    found = [cursor.spelling]
    scope = cursor.semantic_parent
    while scope is not None and scope.kind == CursorKind.NAMESPACE:
        found[:0] = [scope.spelling] if scope.spelling and "(" not in scope.spelling else []
        scope = scope.semantic_parent
    return "::".join(found)
