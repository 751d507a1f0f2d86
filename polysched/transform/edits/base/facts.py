"""What is said of sizes: affine conditions, as text.

    sizes_where("n >= 32 and n % 8 == 0", ("n", "m"))      { : n >= 32 and n mod 8 = 0 }
"""

from __future__ import annotations

from polysched.errors import InputError
from polysched.frontend.python_expressions import parse_formula
from polysched.model.affine import AffineSpace, NotAffine
from polysched.support import isl


def sizes_where(text: str, sizes: tuple[str, ...]) -> isl.Set:
    """The sizes for which the condition holds; InputError if it is none, or not affine in them."""
    condition = parse_formula(text, sizes)
    try:
        return AffineSpace("", (), sizes).where(condition).params()
    except NotAffine as error:
        hint = f"write affine conditions on the sizes ({', '.join(sizes) or 'none'}), as in 'n >= 32 and n % 32 == 0'"
        raise InputError(f"'{text}' is no affine condition: {error.expr}", hint=hint) from None
