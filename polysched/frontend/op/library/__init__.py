"""Functions of NumPy written with others of NumPy: an operator that calls one is read as if its body stood there.

    np.tril(x)     ->     np.where(np.arange(n)[:, None] >= np.arange(m), x, 0)

Each runs under NumPy, too, and gives what NumPy's function of that name gives. Inside of them, a name means the
front end's own function if it has one, as `pad` with a constant.
"""

from types import FunctionType

from polysched.frontend.op.library import elements, matrices, parts

LIBRARY: dict[str, FunctionType] = {
    name: function
    for module in (elements, matrices, parts)
    for name, function in vars(module).items()
    if isinstance(function, FunctionType) and not name.startswith("_")
}
