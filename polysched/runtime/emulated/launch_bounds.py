"""The __launch_bounds__ of CUDA's kernels, and the sizes of OpenCL's, as C++ that launch_on_cpu.h reads.

>>> text = "template <int N> __global__ void __launch_bounds__(32 * N, 2) f(float *a) {}"
>>> print(launch_bounds(text, {"f": "f<8>"}), end="")
template <int N> constexpr unsigned long polysched_bound_f() { return polysched::first(32 * N, 2); }
static const polysched::Bound polysched_bounds[] = {{"f", polysched_bound_f<8>()}, {nullptr, 0}};
static const int polysched_bounds_known = (polysched::bounds = polysched_bounds, 0);

The compiler finds what a bound is: it may be of macros, constants and the template's parameters.
"""

from __future__ import annotations

import re
from collections.abc import Mapping

from polysched.runtime.emulated.declared import BETWEEN, INSIDE, template_parameters, without_comments


def launch_bounds(text: str, kernels: Mapping[str, str] | None = None) -> str:
    """What to put behind `text`; `kernels` are those that are launched: their names, and how they are called, as in
    "scale<float>"; None: any."""
    plain = without_comments(text)
    for name, words in _ALIAS.findall(plain):
        plain = re.sub(rf"\b{name}\b(?!\s+__launch_bounds__)", words.replace("\\", r"\\"), plain)
    functions, table = [], [f'{{"{name}", {x} * {y} * {z}}}' for x, y, z, name in _GROUP.findall(text)]
    given = {name: bound[1:-1] for bound, name in _BOUND.findall(plain)}
    for name, spelled in ({name: name for name in given} if kernels is None else kernels).items():
        scope, _, last = spelled.partition("<")[0].strip().rpartition("::")
        template = template_parameters(plain, last)
        if last not in given or (template and "<" not in spelled):
            continue
        head = f"template <{template}> constexpr" if template else "constexpr"
        function = f"{head} unsigned long polysched_bound_{last}() {{ return polysched::first({given[last]}); }}"
        functions.append(f"namespace {scope} {{ {function} }}" if scope else function)
        arguments = spelled.strip()[len(scope) + 2 * bool(scope) + len(last) :]
        table.append(f'{{"{name}", {scope and scope + "::"}polysched_bound_{last}{arguments}()}}')
    if not table:
        return ""
    functions.append(f"static const polysched::Bound polysched_bounds[] = {{{', '.join(table)}, {{nullptr, 0}}}};")
    functions.append("static const int polysched_bounds_known = (polysched::bounds = polysched_bounds, 0);")
    return "\n".join(functions) + "\n"


_ALIAS = re.compile(r"^[ \t]*#[ \t]*define[ \t]+(\w+)[ \t]+([^\n]*__launch_bounds__[^\n]*)", re.MULTILINE)
_BOUND = re.compile(rf"__launch_bounds__\s*({INSIDE}){BETWEEN}\b(\w+)\s*\(")
_GROUP = re.compile(r"reqd_work_group_size\((\d+), (\d+), (\d+)\)\)\)\s*(\w+)\s*\(")
