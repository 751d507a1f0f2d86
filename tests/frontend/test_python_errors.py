"""Every refusal with its whole message: the tables show the text, the caret and the message as the user sees them."""

from textwrap import indent

import pytest

from polysched.errors import InputError, Loc
from polysched.frontend.python import parse_nest

HEAD = 'def f(a: f64["n", "n"], b: i8["n"], x: f64, n: size):'


def message_for(text: str) -> str:
    with pytest.raises(InputError) as error:
        parse_nest(text, "kernel.py", first_line=10)
    return str(error.value)


def test_example() -> None:
    assert message_for(f"{HEAD}\n    for i in range(n):\n        b[i] = a[i]") == (
        "kernel.py:12:16: 'a' has 2 dimensions and is given 1 subscript\n"
        "          b[i] = a[i]\n"
        "                 ^\n"
        "hint: write a[i, j]"
    )


IN_THE_BODY = """
t = np.zeros(n)
    ^ 'np.zeros' cannot be in a nest
b[0] = 1
hint: write t = np.empty((n, m), np.float32) in front of all else, and assign its elements

t = np.empty(x)
             ^ the shape of 't' names 'x', which is not a size parameter
b[0] = 1
hint: declare the parameter x: ps.size

t = np.empty(n, "complex")
                ^ ''complex'' is no dtype
b[0] = 1
hint: write np.float32, np.float64, np.int32, ...

a = np.empty(n)
^ 'a' has a meaning already
b[0] = 1
hint: give the array a name of its own

t = np.empty(n, order="F")
    ^ 't' needs a shape, and may have a dtype
b[0] = 1
hint: write t = np.empty((n, m), np.float32) in front of all else, and assign its elements

for i in range(n):
    t = np.empty(n)
        ^ an array is made in front of all other statements of a nest
hint: write t = np.empty((n, m), np.float32) in front of all else, and assign its elements

while n > 0:
^ a while loop cannot be in a nest
    pass
hint: write for i in range(n), with the number of iterations known before

for i in range(n):
    break
    ^ break cannot be in a nest
hint: store that it is found, and test that in an if around the body

for i in range(n):
    if i > 2: continue
              ^ continue cannot be in a nest
hint: guard the rest of the body with an if

for i in [1, 2]:
         ^ a loop runs over a range, not over '[1, 2]'
    pass
hint: write range(n), range(lo, hi) or range(lo, hi, step)

for i in b:
         ^ a loop runs over a range, not over 'b'
    b[0] = i
hint: write range(n), range(lo, hi) or range(lo, hi, step)

for i in enumerate(b):
         ^ a loop runs over a range, not over 'enumerate(b)'
    pass
hint: write range(n), range(lo, hi) or range(lo, hi, step)

for i, j in range(n):
    ^ '(i, j)' is not one loop variable
    pass
hint: write one name, as in: for i in range(n)

for i in range(n):
    pass
else:
    b[0] = 1
    ^ an else after a for cannot be in a nest
hint: put it after the loop

for i in range(n / 2):
               ^ a bound of a loop must be an integer, and 'n / 2' is an f64
    pass
hint: divide with //, or truncate with int(x)

for i in range(stop=n):
         ^ a loop runs over a range, not over 'range(stop=n)'
    pass
hint: write range(n), range(lo, hi) or range(lo, hi, step)

for i in range(0, n, 0):
                     ^ the step of a loop must be a constant other than zero, not '0'
    pass
hint: write a number; for a step of s, loop over k and use lo + s * k

for i in range(0, n, n):
                     ^ the step of a loop must be a constant other than zero, not 'n'
    pass
hint: write a number; for a step of s, loop over k and use lo + s * k

for i in range(n):
    for i in range(n):
        ^ an outer loop has the variable 'i' too
        pass
hint: rename one of them

for x in range(n):
    ^ the loop variable 'x' is an array or parameter too
    pass
hint: rename one of them

for a in range(n):
    ^ the loop variable 'a' is an array or parameter too
    pass
hint: rename one of them

for i in range(n):
    i = i + 1
    ^ the loop variable 'i' is changed in the body of its loop
hint: change the range of the loop

for i in range(n):
    if b[i]: i += 1
             ^ the loop variable 'i' is changed in the body of its loop
hint: change the range of the loop

i = 0
^ the loop variable 'i' is assigned outside of its loop
for i in range(n):
    pass
hint: assign another name

for i in range(n):
    pass
b[i] = 0
  ^ the loop variable 'i' is used outside of its loop
hint: assign it to another name inside of the loop

n = 3
^ the parameter 'n' is assigned, and parameters are read-only
hint: assign another name

x *= 2
^ the parameter 'x' is assigned, and parameters are read-only
hint: assign another name, or x[0] of an array of one element, as in x: ps.f64[1]

a = 0
^ the whole array 'a' is assigned
hint: assign its elements in a loop

b += 1
^ the whole array 'b' is assigned
hint: assign its elements in a loop

b[0] = a
       ^ 'a' is an array of 2 dimensions; a nest works on elements
hint: write a[i, j]

b[:] = 0
  ^ a slice cannot be in a nest
hint: loop over the elements: b[i]

b[0] = a[0, 1:n]
            ^ a slice cannot be in a nest
hint: loop over the elements: a[i, j]

b[None] = 0
  ^ a slice cannot be in a nest
hint: loop over the elements: b[i]

for i in range(n):
    b[i] = a[i]
           ^ 'a' has 2 dimensions and is given 1 subscript
hint: write a[i, j]

b[0][1] = 1
^ 'b' has 1 dimension and is given 2 subscripts
hint: write b[i]

b[0] = x[0]
       ^ 'x' is not an array and has no elements
hint: an array is a parameter, as in a: ps.f64["n"]

n[0] = 1
^ 'n' is not an array and has no elements
hint: an array is a parameter, as in a: ps.f64["n"]

b[0] = sqrt(x)[0]
       ^ 'sqrt(x)' is not an array and has no elements
hint: an array is a parameter, as in a: ps.f64["n"]

b[x] = 0
  ^ a subscript must be an integer, and 'x' is an f64
hint: divide with //, or truncate with int(x)

b[n / 2] = 0
  ^ a subscript must be an integer, and 'n / 2' is an f64
hint: divide with //, or truncate with int(x)

b[n > 2] = 0
  ^ a subscript must be an integer, and 'n > 2' is a bool
hint: convert it with int(x)

b[-1] = 0
  ^ subscript -1 is negative, and a nest does not count from the end
hint: subtract from the extent, as in a[n - 1]

b[0] = y
       ^ 'y' is not declared
hint: make it a parameter, as in y: ps.f64, or assign it first

c[0] = 1
^ the array 'c' is not declared
hint: make it a parameter, as in c: ps.f64["n"]

b[0] = t
       ^ 't' is read before it is assigned
t = 1
hint: assign it first: t = 0.0

for i in range(n):
    b[i] = 1
t += 1
^ 't' is read before it is assigned
t = 0
hint: assign it first: t = 0.0

if n > 1:
    t = 1
else:
    b[0] = t
           ^ 't' is read before it is assigned
hint: assign it first: t = 0.0

b[0], b[1] = b[1], b[0]
^ several targets of one assignment cannot be in a nest
hint: assign each on a line of its own

b[0] = b[1] = 0
       ^ a chain of assignments cannot be in a nest
hint: assign each on a line of its own

a.T[0, 0] = 1
^ the attribute 'a.T' cannot be in a nest
hint: pass the value as a parameter, as in n: ps.size

b[0] = a.shape
       ^ 'a.shape' is a tuple; a nest works on numbers
hint: take one extent, as in a.shape[0]

b[0] = a.shape[2]
       ^ 'a' has no such extent
hint: it has 2 dimensions, as in a.shape[0]

b[0] = b.shape[n]
       ^ 'b' has no such extent
hint: it has 1 dimension, as in b.shape[0]

b[0] = config.N
       ^ the attribute 'config.N' cannot be in a nest
hint: pass the value as a parameter, as in n: ps.size

b.x = 1
^ 'b.x' cannot be assigned in a nest
hint: assign to an array element or to a name

return x
^ a return inside, or with a value, cannot be in a nest
hint: store the result in an array parameter

for i in range(n):
    return
    ^ a return inside, or with a value, cannot be in a nest
hint: store the result in an array parameter

with x:
^ a with cannot be in a nest
    pass
hint: leave it around the call of the nest

try:
^ a try cannot be in a nest
    pass
finally:
    pass
hint: leave it around the call of the nest

raise ValueError
^ a raise cannot be in a nest
hint: check before the call of the nest

assert n > 0
^ an assert cannot be in a nest
hint: check before the call of the nest

import math
^ an import cannot be in a nest
hint: import at the top of the file

def g():
^ a function cannot be in a nest
    pass
hint: write its body where it is called

class C:
^ a class cannot be in a nest
    pass
hint: define it at the top of the file

t: f32 = 0
^ an annotated assignment cannot be in a nest
hint: convert the value, as in t = ps.f32(0)

del b
^ a del cannot be in a nest
hint: delete the line

global b
^ a global cannot be in a nest
hint: pass the value as a parameter

match n:
^ a match cannot be in a nest
    case 1:
        pass
hint: write if and elif

print(x)
^ the call of 'print' may read or write any memory
hint: leave only loops, branches and assignments in the nest

a.fill(0)
^ the call of 'a.fill' may read or write any memory
hint: leave only loops, branches and assignments in the nest

b[0] == 1
^ this has no effect
hint: assign it to an array element, or delete it

b[0] = 1
'text'
^ this has no effect
hint: assign it to an array element, or delete it

b[0] = foo(x)
       ^ 'foo' is not a function that a nest can call
hint: there are abs, min, max, C's functions of floats such as sqrt, exp or pow, and casts such as ps.f32

b[0] = np.linalg.norm(x)
       ^ 'np.linalg.norm' is not a function
hint: call one by name, as in sqrt(x)

b[0] = a.sum()
       ^ 'a.sum' is not a function
hint: call one by name, as in sqrt(x)

t = 1
b[0] = t(x)
       ^ 't' is not a function
hint: call one by name, as in sqrt(x)

b[0] = sqrt(x, x)
       ^ 'sqrt' takes 1 argument, not 2

b[0] = min(b)
           ^ 'b' is an array of 1 dimension; a nest works on elements
hint: write b[i]

b[0] = min(x)
       ^ 'min' takes 2 arguments or more, not 1

b[0] = max(x, 1, key=n)
       ^ the arguments of 'max' must be plain
hint: write each in its place, without keyword and star

b[0] = max(*x)
       ^ the arguments of 'max' must be plain
hint: write each in its place, without keyword and star

b[0] = 'text'
       ^ a string cannot be in a nest
hint: the types are f64, f32, f16, i8, i16, i32, i64, u8, u16, u32, u64, bool

b[0] = f'{x}'
       ^ a string cannot be in a nest
hint: the types are f64, f32, f16, i8, i16, i32, i64, u8, u16, u32, u64, bool

b[0] = 1j
       ^ a complex number cannot be in a nest
hint: the types are f64, f32, f16, i8, i16, i32, i64, u8, u16, u32, u64, bool

b[0] = None
       ^ 'None' cannot be in a nest
hint: the types are f64, f32, f16, i8, i16, i32, i64, u8, u16, u32, u64, bool

b[0] = (lambda: 1)()
       ^ 'lambda: 1' is not a function
hint: call one by name, as in sqrt(x)

b[0] = lambda: 1
       ^ a lambda cannot be in a nest
hint: write the expression where it is used

b[0] = max([b[i] for i in range(n)], 1)
           ^ a comprehension cannot be in a nest
hint: write the loop

b[0] = sum(b[i] for i in range(n))
          ^ a comprehension cannot be in a nest
hint: write the loop

b[0] = [1]
       ^ a list cannot be in a nest
hint: use an array parameter

b[0] = (1, 2)
       ^ a tuple cannot be in a nest
hint: write one number

b[0] = (t := 1)
        ^ an assignment inside of an expression cannot be in a nest
hint: assign on a line of its own

b[0] = 1 if x is x else 0
            ^ 'x is x' cannot be in a nest
hint: compare with ==, !=, <, <=, >, >=

if 1 < n in b:
   ^ '1 < n in b' cannot be in a nest
    pass
hint: compare with ==, !=, <, <=, >, >=

b[0] = b[1] and b[2]
       ^ 'b[1]' is an i8, and the value of and, or is known only for bools
hint: compare it, as in x != 0

a[0, 0] = x // 2
          ^ '//' needs integers, not an f64
hint: write floor(x / y)

a[0, 0] = 1 + x % 2
              ^ '%' needs integers, not an f64
hint: write x - floor(x / y) * y

a[0, 0] %= 2
^ '%' needs integers, not an f64
hint: write x - floor(x / y) * y

a[0, 0] = x & 1
          ^ '&' needs integers, not an f64
hint: convert it, as in int(x)

a[0, 0] = x << 1
          ^ '<<' needs integers, not an f64
hint: convert it, as in int(x)

a[0, 0] = ~x
          ^ '~' needs an integer, not an f64
hint: write not x for a bool

a[0, 0] = x @ x
          ^ the operator '@' cannot be in a nest
hint: write its loops

b[0] = (b[0] > 1) + (b[1] > 1)
       ^ '+' cannot be applied to bools
hint: convert them, as in int(x)

b[0] = -(b[0] > 1)
       ^ '-' cannot be applied to bools
hint: convert them, as in int(x)

b[0] = ~(x > 1)
       ^ '~' needs an integer, not a bool
hint: write not x for a bool

b[0] = b[1] ** b[2]
       ^ a power of integers needs 2, 3 or 4 as its exponent
hint: write a product, or float(x) ** y

b[0] **= 9
^ a power of integers needs 2, 3 or 4 as its exponent
hint: write a product, or float(x) ** y

b[0] = 300
       ^ 300 does not fit in i8
hint: use a wider dtype

b[0] = b[1] + 200
       ^ 200 does not fit in i8
hint: use a wider dtype

a[0, 0] = 10000000000000000000
          ^ 10000000000000000000 does not fit in i64
hint: write it as a float

b[0] = b.e
       ^ the attribute 'b.e' cannot be in a nest
hint: pass the value as a parameter, as in n: ps.size
"""

IN_THE_SIGNATURE = """
def f(a, n: size):
      ^ parameter 'a' has no annotation
    pass
hint: write a: ps.f64["n"] for an array, ps.f64 for a number, ps.size for a size

def f(a: float): pass
         ^ the annotation of 'a' is not one of f64, f32, f16, i8, i16, i32, i64, u8, u16, u32, u64, boolean and size
hint: write a: ps.f64["n"] for an array, ps.f64 for a number, ps.size for a size

def f(a: list["n"], n: size): pass
         ^ the annotation of 'a' is not one of f64, f32, f16, i8, i16, i32, i64, u8, u16, u32, u64, boolean and size
hint: write a: ps.f64["n"] for an array, ps.f64 for a number, ps.size for a size

def f(a: complex128["n"], n: size): pass
         ^ complex numbers are not supported
hint: give the real and the imaginary part an array each

def f(a: 'f64'): pass
         ^ the annotation of 'a' is not one of f64, f32, f16, i8, i16, i32, i64, u8, u16, u32, u64, boolean and size
hint: write a: ps.f64["n"] for an array, ps.f64 for a number, ps.size for a size

def f(a: size["n"]): pass
         ^ the annotation of 'a' is not one of f64, f32, f16, i8, i16, i32, i64, u8, u16, u32, u64, boolean and size
hint: write a: ps.f64["n"] for an array, ps.f64 for a number, ps.size for a size

def f(a: f64["n", "m + 1"], n: size): pass
                   ^ the shape of 'a' names 'm', which is not a size parameter
hint: declare the parameter m: ps.size

def f(a: f64[m]): pass
             ^ the shape of 'a' names 'm', which is not a size parameter
hint: declare the parameter m: ps.size

def f(a: f64["x"], x: i64): pass
              ^ the shape of 'a' names 'x', which is not a size parameter
hint: declare the parameter x: ps.size

def f(a: f64["n / 2"], n: size): pass
              ^ an extent must be an integer, and 'n / 2' is an f64
hint: divide with //, or truncate with int(x)

def f(a: f64["n +"], n: size): pass
             ^ 'n +' is not an extent
hint: write a size or an expression, as in "n + 1"

def f(a: f64[:], n: size): pass
             ^ a slice cannot be in a nest
hint: write one number

def f(x: i8 = 1.0): pass
              ^ the default of 'x' is 1.0, which is no i8

def f(x: i8, y: u8 = 256): pass
                     ^ the default of 'y' is 256, which is no u8

def f(*, x: f64 = "1"): pass
                  ^ the default of 'x' is '1', which is no f64

def f(n: size = -1): pass
                ^ the default of 'n' is -1, which is no size

def f(x: f64 = PI): pass
               ^ 'PI' is no literal
hint: write a number

def f(n: size, a: f64["n"] = 0): pass
                             ^ the array 'a' cannot have a default
hint: pass it in the call

def f(x, n: size = 3): pass
      ^ parameter 'x' has no annotation
hint: write x: ps.f64["n"] for an array, ps.f64 for a number, ps.size for a size

def f(*args): pass
       ^ '*args' cannot be in a nest
hint: name each parameter

def f(x: f64, **options): pass
                ^ '*options' cannot be in a nest
hint: name each parameter

def f(a: f64["n"], n: size):
    for i in range(n)
                     ^ this is not Python: expected ':'
        a[i] = 0

def f(n: size):
return
^ this is not Python: expected an indented block after function definition on line 1
"""


def source_and_message(case: str, first_line: int) -> tuple[str, str]:
    """The text of a case, and what the error says: its caret stands below the line that it is about."""
    source: list[str] = []
    place = hint = ""
    for line in case.split("\n"):
        if line.lstrip().startswith("^ "):
            column = line.index("^")
            where = f"kernel.py:{first_line + len(source) - 1}:{column + 1}"
            place = f"{where}: {line[column + 2 :]}\n  {source[-1]}\n  {' ' * column}^"
        elif line.lstrip().startswith("hint: "):
            hint = "\n" + line.lstrip()
        else:
            source.append(line)
    return "\n".join(source), place + hint


@pytest.mark.parametrize("case", IN_THE_BODY.strip().split("\n\n"))
def test_refused_in_the_body(case: str) -> None:
    source, message = source_and_message(indent(case, "    "), first_line=11)
    assert message_for(f"{HEAD}\n{source}") == message


@pytest.mark.parametrize("case", IN_THE_SIGNATURE.strip().split("\n\n"))
def test_refused_in_the_signature(case: str) -> None:
    source, message = source_and_message(case, first_line=10)
    assert message_for(source) == message


@pytest.mark.parametrize(
    ("text", "found"), [("x = 1", "none"), ("def f(): pass\ndef g(): pass", "f, g"), ("async def f(): pass", "none")]
)
def test_not_one_function(text: str, found: str) -> None:
    assert message_for(text) == (
        f"kernel.py:10:1: expected one function, found {found}\n"
        "hint: give the text of one function: def name(parameters): ..."
    )


def test_nothing_of_the_line_controls_the_terminal() -> None:
    assert Loc("nest.c", 1, 4, "a\x1b[2J = 1;").caret() == "  a\ufffd[2J = 1;\n     ^"


def test_caret_below_tabs() -> None:
    assert message_for("def f(n: size):\n\tfor i in range(n):\n\t\ty = z") == (
        "kernel.py:12:7: 'z' is not declared\n"
        "  \t\ty = z\n"
        "  \t\t    ^\n"
        "hint: make it a parameter, as in z: ps.f64, or assign it first"
    )
