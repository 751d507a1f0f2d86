"""Every refusal with its whole message: the tables show the text, the caret and the message as the user sees them."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from polysched.errors import InputError
from polysched.frontend.c.read import read_c

HEAD = """\
#include <math.h>
#include <stddef.h>
struct point { double x; };
double impure(double x);
void effect(void);
int g;
double global_x;
static double writes(double v) { global_x = v; return v; }
static double counts(double v) { static int calls; calls++; return v; }
void f(int n, unsigned u, size_t z, double A[n], double B[n][n], double *p, double *restrict q, int k[n], double x)
{
    int i, j;
    double t;
"""


@pytest.fixture
def message_for(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Callable[[str], str]:
    """The whole message for a text, which is called kernel.c."""
    monkeypatch.chdir(tmp_path)

    def message(text: str) -> str:
        Path("kernel.c").write_text(text)
        with pytest.raises(InputError) as error:
            read_c("kernel.c")
        return str(error.value)

    return message


def test_example(message_for: Callable[[str], str]) -> None:
    text = "void f(int n, int A[n])\n{\n#pragma scop\n    while (n) A[0] = 1;\n#pragma endscop\n}\n"
    assert message_for(text) == (
        "kernel.c:4:5: a while loop cannot be in a region\n"
        "      while (n) A[0] = 1;\n"
        "      ^\n"
        "hint: write for (i = lo; i < hi; i++), with the number of iterations known before"
    )


# A region each; what stands below --- comes after it.
IN_THE_REGION = """
for (i = k[0] = k[1], j = 0; j < n; i++, j++) A[j] = i;
     ^ the head of this loop assigns one value to several variables
hint: assign one after the other, as in m = n, k = m

while (n > 0) A[0] = 1;
^ a while loop cannot be in a region
hint: write for (i = lo; i < hi; i++), with the number of iterations known before

do A[0] = 1; while (A[0] < 0);
^ a do loop cannot be in a region
hint: write for (i = lo; i < hi; i++), with the number of iterations known before

goto end; end: ;
^ goto cannot be in a region
hint: write loops and branches

end: A[0] = 1;
^ a label cannot be in a region
hint: write loops and branches

for (i = 0; i < n; i++)
    return;
    ^ return leaves the region
hint: put the pragmas around less, or around that loop

switch (n) { case 1: A[0] = 1; }
^ switch cannot be in a region
hint: write if and else

asm("nop");
^ inline assembly cannot be in a region
hint: put it outside of the region

effect();
^ the call of 'effect' may write memory
hint: declare it pure with --pure effect

for (i = 0; i < n; i++) A[i] = impure(x);
                               ^ the call of 'impure' may write memory
hint: declare it pure with --pure impure

for (i = 0; i < n; i++) A[i] = writes(x);
                               ^ 'writes' writes 'global_x', and is called in an expression
hint: assign what it returns to a variable

A[0] = frexp(x, k);
                ^ 'frexp' is given 'k', no number
hint: a call in a region computes from numbers alone

sqrt(x);
^ the result of this call is not used
hint: assign it, or delete the call

A[0];
^ this has no effect
hint: assign it, or delete it

x < 2 ? A[0] : A[1];
^ this has no effect
hint: assign it, or delete it

for (i = 0; i < n; i++) { A[i] = 0; i++; }
                                    ^ the loop variable 'i' is changed in the body of its loop
hint: change the bounds or the step of the loop

for (i = 0; i < n; i++) { if (A[i] > 0) i = i + 2; }
                                        ^ the loop variable 'i' is changed in the body of its loop
hint: change the bounds or the step of the loop

for (i = 0; i < n; i++) for (i = 0; i < n; i++) A[i] = 0;
                        ^ an outer loop has the variable 'i' too
hint: use another one

for (g = 0; g < n; g++) A[g] = 0;
     ^ other functions may read the loop variable 'g'
hint: declare 'g' in the for, as in for (int g = 0; ...)

double late = 1; A[0] = late;
---
    A[1] = late;
           ^ 'late' is declared in the region, and used after it
hint: declare it before the region

for (i = 0; i < n; i++) for (j = 0; j < i * i; j++) B[i][j] = 0;
                        ^ a bound of this loop is not affine: i * i
hint: use sums of loop variables and parameters, and products with numbers

for (i = 0; i < n; i++) A[i * i] = 0;
                          ^ subscript 'i * i' of 'A' is not affine, and shows no rows
hint: write A[i * n + j] with j from 0 to n - 1, or declare A[][n]

for (i = 0; i < n; i++) A[i ^ 1] = 0;
                          ^ subscript 'i ^ 1' of 'A' is not affine
hint: use sums of loop variables and parameters, or load it from an array

for (i = 0; i < n; i++) B[i * n][0] = 0;
                          ^ subscript 'i * n' of 'B' is not affine
hint: use sums of loop variables and parameters, or load it from an array

for (i = 0; i < n; i++) for (j = 0; j <= n; j++) q[i * n + j] = 0;
                                                   ^ subscript 'i * n + j' of 'q' is not affine, and shows no rows
hint: write q[i * n + j] with j from 0 to n - 1, or declare q[][n]

for (i = 0; i < n; i++) for (j = 0; j < n; j++)
    q[i * n + j] = q[j * i];
                     ^ subscript 'j * i' of 'q' is not affine, and shows no rows
hint: write q[i * n + j] with j from 0 to n - 1, or declare q[][n]

for (double d = 0; d < n; d++) A[0] = d;
     ^ the loop variable 'd' has the type 'double'
hint: use an int

for (; i < n; i++) A[i] = 0;
^ a loop needs a start, a condition and a step
hint: write for (i = lo; i < hi; i++)

for (i++; i < n; i++) A[i] = 0;
     ^ a loop starts with an assignment to its variable
hint: write for (i = lo; i < hi; i++)

for (i = 0, j = i; i < n; i++) A[i] = j;
                ^ the loop variable 'i' is used outside of its loop
hint: assign it to another variable inside of the loop

for (i = 0, j = 0; i < n; i++, j += i) A[i] = j;
                               ^ the head of the loop uses 'i' for another variable
hint: do it in a statement of its own, before the loop or at the end of its body

for (j = 2, i = j; i < n; i++) { A[i] = j; j = 3; }
     ^ the head of the loop sets what 'i' starts from
hint: do it in a statement of its own, before the loop or at the end of its body

for (t = i = 0; i < n; i++) t += A[i];
     ^ 't' gets the value of a variable of another type
hint: do it in a statement of its own, before the loop or at the end of its body

for (i = 0, effect(); i < n; i++) A[i] = 0;
            ^ the call of 'effect' may write memory
hint: declare it pure with --pure effect

for (i = 0; i < n; i++, i++) A[i] = 0;
                   ^ the head of the loop uses 'i' for another variable
hint: do it in a statement of its own, before the loop or at the end of its body

for (i = 0; i < n; i *= 2) A[i] = 0;
                   ^ 'i *= 2' is no constant step
hint: write i += 2, with a number

for (i = 0; i < n; i += n) A[i] = 0;
                   ^ 'i += n' is no constant step
hint: write i += 2, with a number

for (i = 0; i < n; j++) A[i] = 0;
                   ^ a loop ends an iteration with a step of its variable 'i'
hint: write for (i = lo; i < hi; i++)

for (i = 0; i < n; i--) A[i] = 0;
            ^ the loop steps away from its bound in 'i < n'
hint: turn the step around

for (i = 0; i != n; i += 2) A[i] = 0;
            ^ a loop with != may step over its bound
hint: write < or >

for (i = 0; A[i] > 0; i++) A[i] = 0;
            ^ the loop condition does not compare the loop variable 'i'
hint: compare 'i' alone, as in i < hi

for (i = 0; i < n || i < 5; i++) A[i] = 0;
            ^ the loop condition 'i < n || i < 5' is no comparison
hint: write i < hi

for (i = 0; i < n - i; i++) A[i] = 0;
            ^ the bound 'n - i' changes with the loop variable
hint: compare the variable with what stays the same

for (i = 0; j < n; i++) A[i] = 0;
            ^ the loop condition does not compare the loop variable 'i'
hint: compare 'i' alone, as in i < hi

for (i = 0; i < k[0]; i++) k[i] = 0;
^ the body writes 'k', which the condition of the loop reads
hint: copy the bound to a variable before the loop

t = 1;
for (i = 0; i < (int)t; i++) t += A[i];
^ the body writes 't', which the condition of the loop reads
hint: copy the bound to a variable before the loop

for (size_t v = 0; v < z; v++) q[v - 1] = 0;
                                 ^ 'v - 1' may leave 'size_t': it does whenever the loops around it run
hint: use signed integers, or loop bounds that keep it in range

for (size_t v = z; v >= 0; v--) q[v] = 0;
                   ^ 'v' may wrap around before 'v >= 0' fails
hint: count and compare in int or long

for (unsigned v = u; v > 0; v -= 2) q[v] = 0;
                     ^ 'v' may wrap around before 'v > 0' fails
hint: count and compare in int or long

for (i = -1; i < u; i++) q[i + 1] = 0;
             ^ 'i' may wrap around before 'i < u' fails
hint: count and compare in int or long

for (signed char v = 0; v < 200; v++) q[v] = 0;
                        ^ 'v' may wrap around before 'v < 200' fails
hint: count and compare in int or long

for (unsigned v = 0; v < u; v++)
    if (A[v] > 0) q[v - 1] = 0;
                    ^ 'v - 1' may leave 'unsigned int': it does whenever the loops around it run
hint: use signed integers, or loop bounds that keep it in range

p++;
^ the pointer 'p' changes in the region
hint: subscript a pointer that stays where it is

for (i = 0; i < n; i++) { p = p + 1; *p = 0; }
                          ^ the pointer 'p' changes in the region
hint: subscript a pointer that stays where it is

double *r; r = p;
^ the pointer 'r' is declared without a value
hint: declare it where it gets its value

double *r = p; r++;
^ the pointer 'r' changes in the region
hint: subscript a pointer that stays where it is

for (i = 0; i < n; i++) { double *r = p + k[i]; r[0] = 1; }
                                          ^ a pointer of the region starts where 'k[i]' tells
hint: subscript the array that it points to

float *r = A; r[0] = 1;
^ 'r' points to 'A' as to another type
hint: subscript the array that it points to

double (*r)[3] = B; r[0][0] = 1;
^ 'r' points to 'B' as to another type
hint: subscript the array that it points to

double *r = (double *)k; r[0] = 1;
            ^ '(double *)k' is no element of an array
hint: write a declared array or pointer and its subscripts

A[0] = p - q;
       ^ the whole of 'p' is used
hint: write one element, as in p[i]

A[0] = *(p - 1);
       ^ '*(p - 1)' is no element of an array
hint: write a declared array or pointer and its subscripts

k[0] = *&i;
        ^ an address is taken
hint: subscript the array instead

(&A[1])[0] = 1;
 ^ an address is taken
hint: subscript the array instead

A[0] = ((float *)p)[0];
       ^ '((float *)p)[0]' is no element of an array
hint: write a declared array or pointer and its subscripts

struct point here; here.x = 1;
^ 'here' has the type 'struct point'
hint: a nest has integers, float and double

typedef int here; A[0] = 1;
^ only variables can be declared in a region
hint: move the declaration before the region

extern int there; A[0] = 1;
^ 'there' outlives the region
hint: declare it before the region

static double kept; A[0] = kept;
^ 'kept' outlives the region
hint: declare it before the region

double unset; A[0] = unset;
^ 'unset' is read, and never assigned
hint: give it a value, as in unset = 0

double v[2] = {1, 2}; A[0] = v[0];
^ 'v' has an initializer
hint: assign its elements in loops

for (i = 0; i < n; i++) { const int q = A[i]; double v[q]; v[0] = 1; A[i] = v[0]; }
                                                       ^ 'q' is an extent of 'v', and may change after the declaration
hint: declare 'v' with a variable of the function that is never assigned

for (i = 0; i < n; i++) { double v[i + 1]; v[0] = 1; A[i] = v[0]; }
                                   ^ 'i' is an extent of 'v', and may change after the declaration
hint: declare 'v' with a variable of the function that is never assigned

volatile double v = 0; A[0] = v;
^ 'v' has the type 'volatile double'
hint: a nest has integers, float and double

_Atomic int v = 0; A[0] = v;
^ 'v' has the type '_Atomic(int)'
hint: a nest has integers, float and double

long double v = 0; A[0] = v;
^ 'v' has the type 'long double'
hint: a nest has integers, float and double

A[0] = 1 + (A[1] = 2);
            ^ an assignment inside of an expression
hint: write it as a statement of its own

A[0] += A[1] = 2;
        ^ an assignment inside of an expression
hint: write it as a statement of its own

A[g++] = 2;
  ^ '++' inside of an expression
hint: change the variable in a statement of its own

A[0] = (i = 2, 3);
        ^ a comma inside of an expression
hint: write two statements

A[0] = ({ 1; });
       ^ a statement inside of an expression cannot be in a region
hint: write it before

A[0] = (double){1};
       ^ a compound literal cannot be in a region
hint: declare an array

A[0] = (p != 0);
        ^ the whole of 'p' is used
hint: write one element, as in p[i]

A[0] = t ?: 1;
       ^ 't ?: 1' cannot be in a region
hint: write it with numbers and elements

void (*h)(void) = effect; h();
^ 'h' has elements of the type 'void (void)'
hint: a nest has arrays of integers, float and double

for (i = 0; i < n; i++) A[i] = undeclared;
                               ^ use of undeclared identifier 'undeclared'

A[0] = 1;
A[1] = missing(1);
       ^ the call of 'missing' may write memory
hint: declare it pure with --pure missing


for (unsigned v = 0; v < u; v++) for (unsigned w = 0; w < v; w++)
    q[v * w % 3] = 0;
      ^ 'v * w' may leave 'unsigned int': it is not affine, so nothing shows the contrary
hint: use signed integers, or loop bounds that keep it in range

A[0] = B[0][u * u];
            ^ subscript 'u * u' of 'B' is not affine
hint: use sums of loop variables and parameters, or load it from an array
"""


def text_and_message(case: str) -> tuple[str, str]:
    """The text of a case, and what the error says: its caret stands below the line that it is about."""
    text = [*HEAD.splitlines(), "#pragma scop"]
    place = hint = ""
    is_region = True
    for line in case.split("\n"):
        if line.lstrip().startswith("^ "):
            column = line.index("^")
            place = f"kernel.c:{len(text)}:{column + 1}: {line[column + 2 :]}\n  {text[-1]}\n  {' ' * column}^"
        elif line.startswith("hint: "):
            hint = "\n" + line
        elif line == "---":
            text.append("#pragma endscop")
            is_region = False
        else:
            text.append(line)
    return "\n".join([*text, *["#pragma endscop"] * is_region, "}", ""]), place + hint


@pytest.mark.parametrize("case", IN_THE_REGION.strip("\n").split("\n\n"))
def test_refused_in_the_region(case: str, message_for: Callable[[str], str]) -> None:
    text, message = text_and_message(case)
    assert message_for(text) == message


WITH_THE_FILE = {
    "void f(int n) { }": (
        "kernel.c has no #pragma scop\n" "hint: put #pragma scop before the loops and #pragma endscop after them"
    ),
    '// #pragma scop\nchar *s = "#pragma scop";\n#if 0\n#pragma scop\n#endif\nvoid f(void) { }': (
        "kernel.c has no #pragma scop\n" "hint: put #pragma scop before the loops and #pragma endscop after them"
    ),
    "void f(int A[3])\n{\n  #pragma scop\n    A[0] = 1;\n}": (
        "kernel.c:3:3: this #pragma scop has no #pragma endscop\n    #pragma scop\n    ^\n"
        "hint: put #pragma endscop after the loops"
    ),
    "void f(int A[3])\n{\n    A[0] = 1;\n#pragma endscop\n}": (
        "kernel.c:4:1: #pragma endscop without a #pragma scop before it\n  #pragma endscop\n  ^\n"
        "hint: put #pragma scop before the loops"
    ),
    "void f(int A[3])\n{\n#pragma scop\n#pragma scop\nA[0] = 1;\n#pragma endscop\n#pragma endscop\n}": (
        "kernel.c:4:1: #pragma scop inside of another region\n  #pragma scop\n  ^\n"
        "hint: put #pragma endscop at the end of the region before"
    ),
    "void f(int A[3])\n{\n#pragma scop now\nA[0] = 1;\n#pragma endscop\n}": (
        "kernel.c:3:14: 'now' after #pragma scop\n  #pragma scop now\n               ^\n"
        "hint: leave nothing else on that line"
    ),
    "#pragma scop\nint x;\n#pragma endscop": (
        "kernel.c:1:1: a region stands inside of one function\n  #pragma scop\n  ^\nhint: move the two pragmas"
    ),
    "void f(int A[3])\n{\n#pragma scop\n#pragma endscop\n}": (
        "kernel.c:3:1: this region holds no statement\n  #pragma scop\n  ^\nhint: put the pragmas around loops"
    ),
    "void f(int A[3])\n{\n#pragma scop\nif (A[0]) {\n#pragma endscop\nA[0] = 1; }\n}": (
        "kernel.c:3:1: this region does not hold whole statements\n  #pragma scop\n  ^\n"
        "hint: put the pragmas between statements of one block"
    ),
    "void f(int A[3])\n{\nif (A[2])\n#pragma scop\nA[0] = 1; A[1] = 1;\n#pragma endscop\n}": (
        "kernel.c:4:1: this region does not hold whole statements\n  #pragma scop\n  ^\n"
        "hint: put the pragmas between statements of one block"
    ),
    '#include "nowhere.h"': (
        "kernel.c:1:10: 'nowhere.h' file not found\n  #include \"nowhere.h\"\n           ^\n"
        "hint: name its folder with -I"
    ),
    "void f(int A[3])\n{\n#pragma scop\n\t/* ü */ A[0] = é;\n#pragma endscop\n}": (
        "kernel.c:4:17: use of undeclared identifier 'é'\n  \t/* ü */ A[0] = é;\n  \t               ^"
    ),
    "void f(int A[3])\n{\n#pragma scop\n    A[0] = 1\n#pragma endscop\n}": (
        "kernel.c:4:13: expected ';' after expression\n      A[0] = 1\n              ^"
    ),
    "void f(long double A[3])\n{\n#pragma scop\n    A[0] = A[1];\n#pragma endscop\n}": (
        "kernel.c:1:8: 'A' has elements of the type 'long double'\n  void f(long double A[3])\n         ^\n"
        "hint: a nest has arrays of integers, float and double"
    ),
    "void f(volatile int A[3])\n{\n#pragma scop\n    A[0]++;\n#pragma endscop\n}": (
        "kernel.c:1:8: 'A' has elements of the type 'volatile int'\n  void f(volatile int A[3])\n         ^\n"
        "hint: a nest has arrays of integers, float and double"
    ),
    "union s { int x; };\nvoid f(union s *A)\n{\n#pragma scop\n    A[0].x = 1;\n#pragma endscop\n}": (
        "kernel.c:5:5: 'A[0].x' is no element of an array\n      A[0].x = 1;\n      ^\n"
        "hint: write a declared array or pointer and its subscripts"
    ),
    "struct s { int x; };\nvoid f(struct s **A)\n{\n#pragma scop\n    A[0][0].x = 1;\n#pragma endscop\n}": (
        "kernel.c:2:8: the elements of 'A' are pointers, and its rows may lie anywhere\n"
        "  void f(struct s **A)\n         ^\nhint: declare it as one array, as in double A[n][m]"
    ),
    "void f(int n, int *A, int k[n])\n{\n#pragma scop\n    A[k[0]] = 1;\n#pragma endscop\n}": (
        "kernel.c:1:15: nothing shows how far 'A' reaches, so whether it overlaps another array\n"
        "  void f(int n, int *A, int k[n])\n                ^\n"
        "hint: declare it restrict, or with its extent, as in A[n]"
    ),
    "int g;\nvoid f(int A[3])\n{\n#pragma scop\n    for (g = 0; g < 3; g++) A[g] = 0;\n#pragma endscop\n}": (
        "kernel.c:5:10: other functions may read the loop variable 'g'\n"
        "      for (g = 0; g < 3; g++) A[g] = 0;\n           ^\n"
        "hint: declare 'g' in the for, as in for (int g = 0; ...)"
    ),
    "void f(int n, int m, int A[n][m])\n{\n  m = 1;\n#pragma scop\n    A[0][0] = 0;\n#pragma endscop\n}": (
        "kernel.c:1:31: 'm' is an extent of 'A', and may change after the declaration\n"
        "  void f(int n, int m, int A[n][m])\n                                ^\n"
        "hint: declare 'A' with a variable of the function that is never assigned"
    ),
    "void f(int n)\n{\n  typedef int row[n];\n  row A;\n#pragma scop\n    A[0] = 0;\n#pragma endscop\n}": (
        "kernel.c:4:3: the extents of 'A' stand in a typedef\n    row A;\n    ^\n"
        "hint: write the extents where the array is declared"
    ),
}


@pytest.mark.parametrize("text", WITH_THE_FILE)
def test_refused_with_the_file(text: str, message_for: Callable[[str], str]) -> None:
    assert message_for(text) == WITH_THE_FILE[text]


def test_no_such_file() -> None:
    with pytest.raises(InputError) as error:
        read_c("nowhere.c")
    assert str(error.value) == "nowhere.c cannot be read: No such file or directory\nhint: give the path of a C file"


def test_an_error_in_a_header_is_shown_there(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    Path("include").mkdir()
    Path("include/bad.h").write_text("int x\nint y;\n")
    Path("kernel.c").write_text('#include "bad.h"\n')
    with pytest.raises(InputError) as error:
        read_c("kernel.c", include=["include"])
    assert str(error.value) == "include/bad.h:1:6: expected ';' after top level declarator\n  int x\n       ^"
