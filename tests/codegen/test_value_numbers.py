import pytest

from polysched.codegen.expr.value_numbers import HasEffects, ValueNumbers
from polysched.ir.available import Available
from polysched.ir.build import add, const, mul, var
from polysched.ir.dtypes import f32, f64, i64
from polysched.ir.nodes import Call, Cast, Expr, Load, Select, Unary

a, b, s = map(var, "abs")


def numbers(*exprs: Expr, made: ValueNumbers | None = None) -> list[int]:
    made = made or ValueNumbers(Available())
    made.begin(exprs)
    return [made[expr] for expr in exprs]


def test_the_same_operation_on_the_same_values_is_the_same_value():
    one, two, other = numbers(add(mul(a, b), 1), add(mul(a, b), 1), add(mul(b, a), 1))
    assert one == two != other


def test_a_name_is_what_it_is_bound_to():
    made = ValueNumbers(Available())
    (made.bound["s"],) = numbers(mul(a, b), made=made)
    assert len(set(numbers(add(s, 1), add(mul(a, b), 1), made=made))) == 1


def test_operators_types_and_functions_tell_values_apart():
    x = var("x", f64)
    casts = Cast(x, f32), Cast(x, i64)
    calls = Call("sin", (x,), f64), Call("cos", (x,), f64), Call("sin", (x,), f32)
    others = (
        Unary("-", a),
        Unary("~", a),
        Select(var("c"), a, b),
        Select(var("c"), b, a),
        const(0.0, f64),
        const(-0.0, f64),
    )
    exprs = *casts, *calls, *others
    assert len(set(numbers(*exprs))) == len(exprs)


def test_what_is_loaded_changes_with_a_store():
    memory: Available = Available()
    made = ValueNumbers(memory)
    element = add(Load("A", (a,), i64), 1)
    before = numbers(element, made=made)
    memory.write("B")
    assert numbers(element, made=made) == before
    memory.write("A")
    assert numbers(element, made=made) != before


def test_calls_with_effects_have_no_number():
    with pytest.raises(HasEffects):
        numbers(add(a, Call("noise", (), i64, pure=False)))
