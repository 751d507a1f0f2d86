from collections.abc import Sequence

import numpy as np
import pytest

from polysched import InputError
from polysched.config.plain import plain_arguments


def tile(self, *loops: str, sizes: Sequence[int], names: Sequence[str] = (), shift: int | None = None):
    """As an edit of a schedule is declared."""


def bind(self, loops: str | Sequence[str], axis: str, threads: int | None = None):
    """Another one."""


def test_numbers_and_lists_become_plain_data():
    args, kwargs = plain_arguments(tile, ["i", np.str_("j")], {"sizes": [np.int64(8), 4], "shift": None})
    assert (args, kwargs) == (("i", "j"), {"sizes": (8, 4), "shift": None})
    assert {type(each) for each in (*args, *kwargs["sizes"])} == {str, int}


def test_what_a_method_does_not_have_is_left_to_it():
    assert plain_arguments(bind, ["i", "x", 3, 2.5], {"speed": 2.5}) == (("i", "x", 3, 2.5), {"speed": 2.5})


@pytest.mark.parametrize(
    ("method", "args", "kwargs", "message"),
    [
        (tile, [3], {}, "'loops' of tile is a string, not 3"),
        (tile, ["i"], {"sizes": 8}, "'sizes' of tile is a sequence of whole numbers below 2**31, not 8"),
        (tile, ["i"], {"sizes": (8.0,)}, "'sizes' of tile is a sequence of whole numbers below 2**31, not (8.0,)"),
        (tile, ["i"], {"names": "ab"}, "'names' of tile is a sequence of strings, not 'ab'"),
        (tile, ["i"], {"shift": True}, "'shift' of tile is a whole number below 2**31 or None, not True"),
        (tile, ["i"], {"shift": 2**31}, "'shift' of tile is a whole number below 2**31 or None, not 2147483648"),
        (bind, [3, "x"], {}, "'loops' of bind is a string or a sequence of strings, not 3"),
    ],
)
def test_arguments_of_another_kind(method, args, kwargs, message):
    with pytest.raises(InputError) as raised:
        plain_arguments(method, args, kwargs)
    assert str(raised.value) == message
