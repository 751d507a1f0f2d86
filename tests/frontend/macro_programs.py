"""Random C programs whose regions hang on macros and conditionals, and flags to compile them with.

    text, headers = program(random)          a file that prints what its region computes, and what it includes
    flags(random)                            ["-DN=5", "-UFAST", ...]
"""

from __future__ import annotations

from random import Random

CHOICES = {
    "N": ["8", "5", "2+6", "(8)", "4 + 4", "8u", "K"],
    "K": ["3", "2", "6"],
    "COEF": ["2.0", "3.0", "2.0f", "2", "(1.0+1.0)"],
    "WIDE": ["", "1"],
    "FAST": ["", "0", "1", "2"],
    "REAL": ["float", "double", "int"],
    "STEP": ["1", "2"],
    "DEBUG": [""],
    "ADD(x,y)": ["x+y", "((x)+(y))", "x-y"],
    "AT(i)": ["i", "(i)", "(9-(i))"],
    "LIMIT": ["INT_MAX", "5", "INT_MIN"],
    "p": ["q"],
}


def flags(random: Random) -> list[str]:
    names = random.sample(sorted(CHOICES), random.randint(0, 3))
    return [f"-D{name}={random.choice(CHOICES[name])}" for name in names]


def program(random: Random) -> tuple[str, dict[str, str]]:
    """The text of the file, and of its headers by name."""
    default = "".join(_default(random, name) for name in CHOICES if name not in ("WIDE", "DEBUG", "p", "FAST"))
    typedef = "#ifdef WIDE\ntypedef double real;\n#else\ntypedef REAL real;\n#endif\n"
    in_header = random.random() < 0.4
    header = f"#ifndef H\n#define H\n{default if random.random() < 0.5 else ''}{{}}#endif\n"
    parts = ["#include <stdio.h>\n#include <limits.h>\n"]
    if "REAL" in header:
        parts.append('#include "h.h"\n' + default.replace("#ifndef REAL", "#ifndef REAL"))
    else:
        parts.append(default)
    parts.append('#include "h.h"\n' if in_header or "REAL" in header else "")
    header = header.format(typedef if in_header else "")
    parts.append("" if in_header else typedef)
    parts.append(random.choice(["", "enum { E = N / 2 };\n", "enum { E = K };\n"]))
    has_enum = "enum" in parts[-1]
    parts.append(random.choice(["", "#if FAST + 0 > 1\n#undef COEF\n#define COEF 7.0\n#endif\n"]))
    parts.append("static double twice(double x) { return x * COEF; }\n" if random.random() < 0.4 else "")
    has_twice = "twice" in parts[-1]
    extent = random.choice(["40", "N + 32", "4 * (N) + 20"])
    parts.append(f"real a[{extent}], b[{extent}];\nint p = 1, q = 2;\n")
    parts.append(random.choice(["", "#ifdef DEBUG\n#define TRACE(i) printf(\"%d\\n\", i);\n#else\n#define TRACE(i)\n#endif\n"]))
    trace = "    TRACE(i)\n" if "TRACE" in parts[-1] and random.random() < 0.7 else ""
    parts.append("void kernel(void)\n{\n    int i = 0;\n")
    parts.append(random.choice(["", "", "#define M (N + K)\n", "    const int m = N;\n"]))
    bounds = ["N", "2*N", "N - 1", "(N)", "N % 7"]
    bounds += ["M"] if "M" in parts[-1] else ["m"] if "const" in parts[-1] else []
    bounds += ["E", "E + N"] if has_enum else []
    values = ["COEF", "b[i] * COEF", "ADD(b[i], 1)", "2 * ADD(i, K)", "p + i", "b[AT(i)]", "i * sizeof(real)", "(LIMIT > 9)"]
    values += ["b[i] / LIMIT", "(REAL)2.5 * b[i]", "i < K ? b[i] : COEF"] + ["twice(b[i])"] * has_twice
    loop = f"    for (i = 0; i < {random.choice(bounds)}; i{random.choice(['++', ' += STEP'])})\n"
    body = [f"        a[{random.choice(['i', 'AT(i)', 'i + K'])}] = {random.choice(values)};\n" for _ in range(2)]
    region = loop + body[0]
    if random.random() < 0.5:
        test = random.choice(["#ifdef FAST", "#ifndef FAST", "#if FAST + 0 > 0", "#if K > 2", "#if defined WIDE && N > 5"])
        region = f"{test}\n{region}#else\n{loop}{body[1]}#endif\n"
    parts.append(f"#pragma scop\n{region}#pragma endscop\n{trace}")
    parts.append(random.choice(["", "", "#ifdef DEBUG\n    printf(\"%d\\n\", i);\n#endif\n", "#undef K\n"]))
    parts.append("}\n")
    parts.append("int main(void)\n{\n    for (int i = 0; i < 20; i++) b[i] = i * 3 % 7 + 1;\n    kernel();\n")
    parts.append('    for (int i = 0; i < 20; i++) printf("%.9g\\n", (double)a[i]);\n    return 0;\n}\n')
    return "".join(parts), {"h.h": header}


def _default(random: Random, name: str) -> str:
    value, plain = random.choice(CHOICES[name]), name.partition("(")[0]
    define = f"#define {name} {value}\n"
    return random.choice([define, f"#ifndef {plain}\n{define}#endif\n", f"#ifndef {plain}\n{define}#endif\n"])
