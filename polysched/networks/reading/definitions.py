"""Operators that the standard defines by others: the nodes in place of one, with its attributes and operands.

y = Celu(x, alpha = 2)      ->      t = Div(x, 2);  e = Elu(t, alpha = 1);  y = Mul(2, e)
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from polysched.networks.reading.schema import package, schema


def definition(proto: Any, types: Sequence[Any], opset: int) -> Any:
    """The function that the standard has for the node; None if there is none, or it leaves attributes out."""
    found = schema(proto.op_type, opset)
    if found is None or not (found.has_function or found.has_context_dependent_function):
        return None
    given = {each.name for each in proto.attribute}
    read = set(found.attributes)
    if found.has_function:
        read &= {each.ref_attr_name for node in found.function_body.node for each in node.attribute}
    if not given <= read:
        return None
    if found.has_function:
        return found.function_body
    try:
        operands = [each.SerializeToString() for each in types]
        text = found.get_context_dependent_function(proto.SerializeToString(), operands)
    except Exception:  # of C++: the node has none
        return None
    body = package().FunctionProto()
    body.ParseFromString(text)
    return body if body.node else None


def nodes_of(body: Any, proto: Any, operands: set[str], opset: int) -> list[Any]:
    """The nodes of the function, with the attributes of the node, which has these of the operands."""
    usual = {each.name: each for each in body.attribute_proto}
    for name, each in schema(proto.op_type, opset).attributes.items():
        if each.default_value.name:
            usual.setdefault(name, each.default_value)
    given = {each.name: each for each in proto.attribute}
    return _without_absent([_bound(node, {**usual, **given}) for node in body.node], operands)


def _bound(node: Any, attributes: Mapping[str, Any]) -> Any:
    """A node of a function with the caller's attributes in place of references."""
    bound = type(node)()
    bound.CopyFrom(node)
    del bound.attribute[:]
    for each in node.attribute:
        if not each.ref_attr_name:
            bound.attribute.append(each)
        elif each.ref_attr_name in attributes:
            made = bound.attribute.add()
            made.CopyFrom(attributes[each.ref_attr_name])
            made.name = each.name
    return bound


def _without_absent(nodes: list[Any], operands: set[str]) -> list[Any]:
    """The nodes; operands that the caller has left out are left out, too."""
    made = operands | {name for node in nodes for name in node.output}
    for node in nodes:
        for k, name in enumerate(node.input):
            if name and name not in made:
                node.input[k] = ""
    return nodes
