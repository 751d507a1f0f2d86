"""What the `onnx` package knows: attributes as plain values, and what holds where a node does not say."""

from __future__ import annotations

from collections.abc import Mapping
from functools import cache
from importlib import import_module
from types import MappingProxyType
from typing import Any

from polysched.errors import InputError
from polysched.networks.array import dtype_of

_TYPES = ("to", "dtype", "output_dtype", "stash_type", "softmax_precision", "precision")  # attributes that are a type


@cache
def package(name: str = "onnx") -> Any:
    """The package, or a part of it."""
    try:
        return import_module(name)
    except ImportError as error:
        hint = "pip install 'polysched[network]'"
        raise InputError(f"reading a network needs the package onnx: {error}", hint=hint) from None


def attributes_of(proto: Any) -> dict[str, Any]:
    """The attributes of a node by name: numbers, texts, tuples of them, NumPy arrays, graphs."""
    return {each.name: _value(each) for each in proto.attribute}


def _value(attribute: Any) -> Any:
    onnx = package()
    if attribute.ref_attr_name:
        raise InputError(f"attribute {attribute.name} is not bound")
    value = onnx.helper.get_attribute_value(attribute)
    if isinstance(value, bytes):
        return value.decode()
    if isinstance(value, onnx.TensorProto):
        return onnx.numpy_helper.to_array(value)
    if attribute.name in _TYPES and isinstance(value, int):
        return type_name(value)
    if isinstance(value, onnx.GraphProto):
        return value
    if hasattr(value, "__iter__") and not isinstance(value, str):
        return tuple(each.decode() if isinstance(each, bytes) else each for each in value)
    return value


def type_name(number: int) -> str:
    """The type that a number of the format stands for, as kernels call it, or else as the format does."""
    onnx = package()
    try:
        return dtype_of(onnx.helper.tensor_dtype_to_np_dtype(number)).name
    except (InputError, KeyError, ValueError):
        return str(onnx.TensorProto.DataType.Name(number)).lower()


@cache
def schema(kind: str, opset: int) -> Any:
    """The schema of an operator as of a version of the operator set; None if there is none."""
    try:
        return package("onnx.defs").get_schema(kind, opset, "")
    except Exception:  # of a module in C++, whose classes have moved between versions
        return None


@cache
def latest(kind: str) -> int:
    """The version that the operator's meaning was last changed in."""
    found = schema(kind, package("onnx.defs").onnx_opset_version())
    return found.since_version if found is not None else 0


@cache
def defaults(kind: str, since: int) -> Mapping[str, Any]:
    """What the attributes are where they are left out, as far as the schema says it."""
    found = schema(kind, since)
    given = {} if found is None else found.attributes
    return MappingProxyType(
        {name: _value(each.default_value) for name, each in given.items() if each.default_value.name}
    )
