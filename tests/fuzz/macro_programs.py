"""Random C programs whose regions hang on macros and conditionals, and flags to compile them with.

    text, headers = program(random)     a file that prints what its region computes, and what it includes
    flags(random)                       ["-DN=5", "-DFAST", ...]
"""

from __future__ import annotations

from random import Random

MACROS = {
    "N": ["8", "5", "2+6", "(8)", "4 + 4", "8u", "K"],
    "K": ["3", "2", "6"],
    "COEF": ["2.0", "3.0", "2.0f", "2", "(1.0+1.0)"],
    "REAL": ["float", "double", "int"],
    "STEP": ["1", "2"],
    "ADD(x,y)": ["x+y", "((x)+(y))", "x-y"],
    "AT(i)": ["i", "(i)", "(9-(i))"],
    "LIMIT": ["INT_MAX", "5", "INT_MIN"],
}
SWITCHES = {"WIDE": ["", "1"], "FAST": ["", "0", "1", "2"], "DEBUG": [""], "p": ["q"]}  # which the file does not define
TYPEDEF = "#ifdef WIDE\ntypedef double real;\n#else\ntypedef REAL real;\n#endif\n"
TRACE = '#ifdef DEBUG\n#define TRACE(i) printf("%d\\n", i);\n#else\n#define TRACE(i)\n#endif\n'
ENUMS = ["", "enum { E = N / 2 };\n", "enum { E = K };\n"]
ANEW = "#if FAST + 0 > 1\n#undef COEF\n#define COEF 7.0\n#endif\n"
TWICE = "static double twice(double x) { return x * COEF; }\n"
HEADS = ["", "", "#define M (N + K)\n", "    const int M = N;\n"]
TAILS = ["", "", '#ifdef DEBUG\n    printf("%d\\n", i);\n#endif\n', "#undef K\n", "    TRACE(i)\n"]
TESTS = ["#ifdef FAST", "#ifndef FAST", "#if FAST + 0 > 0", "#if K > 2", "#if defined WIDE && N > 5"]
BOUNDS = ["N", "2*N", "N - 1", "(N)", "N % 7", "E", "E + N", "M"]
PLACES = ["i", "AT(i)", "i + K"]
VALUES = [
    "COEF", "b[i] * COEF", "ADD(b[i], 1)", "2 * ADD(i, K)", "p + i", "b[AT(i)]", "i * sizeof(real)", "(LIMIT > 9)",
    "b[i] / LIMIT", "(REAL)2.5 * b[i]", "i < K ? b[i] : COEF", "twice(b[i])",
]  # fmt: skip
MAIN = """\
int main(void)
{
    for (int i = 0; i < 20; i++) b[i] = i * 3 % 7 + 1;
    kernel();
    for (int i = 0; i < 20; i++) printf("%.9g\\n", (double)a[i]);
    return 0;
}
"""


def flags(random: Random) -> list[str]:
    choices = MACROS | SWITCHES
    return [f"-D{name}={random.choice(choices[name])}" for name in random.sample(sorted(choices), random.randint(0, 3))]


def program(random: Random) -> tuple[str, dict[str, str]]:
    """The text of the file, and of its headers by name; not all of them compile."""
    one = random.choice
    defaults = "".join(_default(random, name) for name in MACROS)
    in_header = one([True, False])
    enum, head, extent = one(ENUMS), one(HEADS), one(["40", "N + 32", "4 * (N) + 20"])
    bounds = [bound for bound in BOUNDS if (enum or "E" not in bound) and (head or "M" not in bound)]
    loop = f"    for (i = 0; i < {one(bounds)}; i{one(['++', ' += STEP'])})\n"
    region, other = (f"{loop}        a[{one(PLACES)}] = {one(VALUES)};\n" for _ in range(2))
    if one([True, False]):
        region = f"{one(TESTS)}\n{region}#else\n{other}#endif\n"
    text = [
        "#include <stdio.h>\n#include <limits.h>\n", defaults, '#include "h.h"\n' if in_header else TYPEDEF, enum,
        one(["", ANEW]), TWICE, TRACE, f"real a[{extent}], b[{extent}];\nint p = 1, q = 2;\n",
        f"void kernel(void)\n{{\n    int i = 0;\n{head}#pragma scop\n{region}#pragma endscop\n{one(TAILS)}}}\n", MAIN,
    ]  # fmt: skip
    return "".join(text), {"h.h": f"#ifndef H\n#define H\n{TYPEDEF}#endif\n"}


def _default(random: Random, name: str) -> str:
    define = f"#define {name} {random.choice(MACROS[name])}\n"
    return random.choice([define, *[f"#ifndef {name.partition('(')[0]}\n{define}#endif\n"] * 2])
