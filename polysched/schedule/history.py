"""The edits of a schedule, as Python that makes it again, and as JSON.

    schedule = (
        ps.Schedule(seidel)
        .skew("i", by="t")
        .tile("t", "i", sizes=(8, 16))
    )
"""

from __future__ import annotations

import ast
import json
from collections.abc import Mapping
from dataclasses import asdict, dataclass, fields, replace
from typing import Any, Literal, cast

from polysched.config.constraints import (
    Constraint,
    innermost,
    max_skew,
    order,
    outer_parallel,
    separate,
    tile_sizes,
    together,
)
from polysched.config.machine import Gpu, Machine
from polysched.config.options import Options, Target
from polysched.config.plain import called, with_tuples, written
from polysched.config.target import require_known
from polysched.errors import InputError
from polysched.model.tree.nodes import Tree
from polysched.model.tree_yaml import from_yaml, to_yaml
from polysched.prelude.edit import NestEdit
from polysched.prelude.edits import edits_as_data, edits_of
from polysched.strategy.decision import Order, Value
from polysched.support.brief import Brief
from polysched.support.version import __version__
from polysched.transform.edits.base.registry import Edit

Start = Literal["source", "ilp"]
_DEFAULTS = Options()


@dataclass(frozen=True, repr=False)
class History(Brief):
    """How a schedule came about; printed, it is the Python that makes it again."""

    nest: str
    start: Start | Tree = "source"
    options: Options = _DEFAULTS
    edits: tuple[Edit, ...] = ()
    prelude: tuple[NestEdit, ...] | None = None  # what is done to the nest before; None is what any schedule needs

    def __str__(self) -> str:
        given = [self.nest, *self._start(), *self._options(), *self._prelude()]
        lines = [f"ps.Schedule({', '.join(given)})", *map(str, self.edits)]
        if len(lines) == 1:
            return f"schedule = {lines[0]}"
        return "\n".join(["schedule = (", *(f"    {line}" for line in lines), ")"])

    def _start(self) -> list[str]:
        match self.start:
            case "source":
                return []
            case Tree() as tree:
                return [f"ps.from_yaml({to_yaml(tree)!r})"]
        return [written(self.start)]

    def _options(self) -> list[str]:
        changed = _changed(self.options)
        texts = [f"{name}={_written(value)}" for name, value in changed.items()]
        return [f"options=ps.Options({', '.join(texts)})"] if texts else []

    def _prelude(self) -> list[str]:
        if self.prelude is None:
            return []
        edits = (f"ps.{called('NestEdit.of', edit.name, *edit.args, **dict(edit.kwargs))}" for edit in self.prelude)
        return [f"prelude=[{', '.join(edits)}]"]

    def to_json(self, given: Given | None = None) -> str:
        """The history as JSON, which `history_from_json` reads; InputError for options that JSON cannot hold."""
        start = {"tree": to_yaml(self.start)} if isinstance(self.start, Tree) else self.start
        head: dict[str, Any] = {"polysched": __version__, "nest": self.nest, "start": start}
        head["options"] = _changed(self.options)
        if self.prelude is not None:
            head["prelude"] = edits_as_data(self.prelude)
        if given is not None:
            head["strategy"] = {**vars(given), "options": _changed(given.options)}
        edits = [json.dumps([edit.name, edit.args, dict(edit.kwargs)]) for edit in self.edits]
        try:
            lines = [f'  "{key}": {json.dumps(value, default=_as_plain)},' for key, value in head.items()]
        except TypeError as error:
            raise InputError(f"the options {', '.join(head['options'])} cannot be written as JSON: {error}") from error
        inside = "".join(f"\n    {edit}," for edit in edits).removesuffix(",")
        return "\n".join(["{", *lines, f'  "edits": [{inside}\n  ]' if edits else '  "edits": []', "}"])


@dataclass(frozen=True)
class Given:
    """What a strategy was given, which wrote the edits from number `after` on."""

    target: Target
    after: int
    order: Order
    options: Options
    answers: Mapping[str, Value]  # to its decisions, by their keys


def history_from_json(text: str) -> tuple[History, Given | None]:
    """The history that `History.to_json` gave, and what its strategy was given; InputError that says what is wrong with
    the text."""
    try:
        data = json.loads(text)
    except (json.JSONDecodeError, RecursionError) as error:
        raise InputError(f"not JSON: {error}") from error
    match data:
        case {"nest": str(nest), "start": start, "edits": list(edits)}:
            options = data.get("options", {})
        case _:
            what = "no history: it holds 'nest', 'start' and a list of 'edits'"
            raise InputError(what, hint="write it with Schedule.to_json()")
    match start:
        case "source" | "ilp":
            pass
        case {"tree": str(yaml)}:
            start = from_yaml(yaml)
        case _:
            raise InputError(f"a schedule cannot start from {start!r}", hint="give 'source', 'ilp' or {'tree': YAML}")
    prelude = edits_of(data["prelude"]) if "prelude" in data else None
    history = History(nest, start, _options(options), tuple(map(_edit, edits)), prelude)
    given = _given(data["strategy"]) if "strategy" in data else None
    if given and not 0 <= given.after <= len(edits):
        raise InputError(f"a strategy wrote the edits from {given.after} on, and there are {len(edits)}")
    return history, given


def _given(data: Any) -> Given:
    if isinstance(data, dict) and "keeps_order" in data:  # as versions before 0.2 wrote it
        data = {**data, "order": "kept" if data["keeps_order"] else "free"}
    match data:
        case {
            "target": str(target),
            "after": int(after),
            "order": "free" | "kept" | "windows" as order,
            "options": options,
            "answers": dict(answers),
        }:
            require_known(target)
            return Given(cast(Target, target), after, order, _options(options), answers)
    raise InputError(f"what a strategy was given is not {data!r}", hint="write it with Schedule.to_json()")


def _options(data: Any) -> Options:
    if not isinstance(data, dict):
        raise InputError(f"options are a JSON object, not {data!r}")
    if unknown := sorted(set(data) - {field.name for field in fields(Options)}):
        raise InputError(f"there is no option {', '.join(unknown)}")
    values = with_tuples(data)
    if isinstance(texts := values.get("constraints"), tuple):
        values["constraints"] = tuple(map(_constraint, texts))
    for name, kind in _PROCESSORS.items():
        if isinstance(found := values.get(name), dict):
            try:
                values[name] = kind(**found)
            except TypeError as error:
                raise InputError(f"{found!r} is no {name}: {error}") from error
    return replace(_DEFAULTS, **values)


_PROCESSORS: dict[str, type[Machine | Gpu]] = {"machine": Machine, "gpu": Gpu}


_CONSTRAINTS = {f.__name__: f for f in (order, innermost, outer_parallel, max_skew, separate, together, tile_sizes)}


def _as_plain(value: Any) -> Any:
    if isinstance(value, Constraint):
        return str(value)
    if isinstance(value, Machine | Gpu):
        return asdict(value)
    raise TypeError(f"{value!r} is no plain value")


def _constraint(text: Any) -> Constraint:
    """The constraint that a call such as `order("S", "i", "j")` makes; InputError for any other text."""
    try:
        match ast.parse(str(text), mode="eval").body:
            case ast.Call(func=ast.Name(id=name), args=args, keywords=named) if name in _CONSTRAINTS:
                values = {keyword.arg or "": ast.literal_eval(keyword.value) for keyword in named}
                return _CONSTRAINTS[name](*map(ast.literal_eval, args), **values)
    except (SyntaxError, ValueError, TypeError) as error:
        raise InputError(f"'{text}' is no constraint: {error}") from error
    raise InputError(f"'{text}' is no constraint", hint=f"the constraints are: {', '.join(_CONSTRAINTS)}")


def _edit(data: Any) -> Edit:
    match data:
        case [str(name), list(args), dict(kwargs)]:
            return Edit(name, with_tuples(args), tuple((key, with_tuples(value)) for key, value in kwargs.items()))
    raise InputError(f"an edit is [name, [arguments], {{named ones}}], not {data!r}")


def _changed(options: Options) -> dict[str, Any]:
    """The options that differ from their defaults."""
    every = {field.name: getattr(options, field.name) for field in fields(options)}
    return {name: value for name, value in every.items() if value != getattr(_DEFAULTS, name)}


def _written(option: Any) -> str:
    """The value of an option as one writes it."""
    if isinstance(option, tuple) and option and all(isinstance(each, Constraint) for each in option):
        return f"({', '.join(f'ps.{each}' for each in option)}{',' if len(option) == 1 else ''})"
    return f"ps.{option!r}" if isinstance(option, Machine | Gpu) else written(option)
