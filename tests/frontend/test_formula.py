import pytest

from polysched import InputError
from polysched.frontend.python_expressions import parse_formula
from polysched.ir.text import show


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("i < j and 2 * i <= n", "i < j && 2 * i <= n"),
        ("0 <= i - j < 3", "0 <= i - j && i - j < 3"),
        ("not i % 2 == 0", "!(floormod(i, 2) == 0)"),
        ("n // 2", "floordiv(n, 2)"),
        ("min(i, n)", "min(i, n)"),
    ],
)
def test_conditions_and_integers(text, shown):
    assert show(parse_formula(text, ("i", "j", "n"))) == shown


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("i < m", "formula:1:5: 'm' is not known here\n  i < m\n      ^\nhint: the names are: i, n"),
        ("i <", "formula:1:1: this is not Python: invalid syntax\n  i <\n  ^"),
        ("a[i] > 0", "formula:1:1: 'a' is not known here\n  a[i] > 0\n  ^\nhint: the names are: i, n"),
    ],
)
def test_what_is_neither(text, message):
    with pytest.raises(InputError) as raised:
        parse_formula(text, ("i", "n"))
    assert str(raised.value) == message
