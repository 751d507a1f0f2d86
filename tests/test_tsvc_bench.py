"""The benchmark of TSVC's loops: what it takes for a loop's region."""

import pytest

from benchmarks.tsvc.source import NotTsvc, prepare

SOURCE = """\
real_t s000(struct args_t * func_args)
{
    gettimeofday(&func_args->t1, NULL);
    for (int nl = 0; nl < 2*iterations; nl++) {
        for (int i = 0; i < LEN_1D; i++) a[i] = b[i] + 1;
        dummy(a, b, 0.);
    }
    return calc_checksum(__func__);
}
int main(void) { time_function(&s000, NULL); }
"""


def written(folder, text=SOURCE):
    for name in ("common.c", "array_defs.h", "dummy.c"):
        (folder / name).write_text("")
    (folder / "common.h").write_text("#define iterations 100000\n")
    path = folder / "tsvc.c"
    path.write_text(text)
    return path


def test_what_is_repeated_up_to_the_call_of_dummy_is_the_region(tmp_path):
    out = tmp_path / "out"
    out.mkdir()
    assert prepare(written(tmp_path), out, ()) == ["s000"]
    assert (
        "nl < tsvc_runs; nl++) {\n#pragma scop\n        for (int i = 0; i < LEN_1D; i++) a[i] = b[i] + 1;\n"
        "#pragma endscop\n        dummy(a, b, 0.);\n"
    ) in (out / "marked.c").read_text()
    assert 'tsvc_loop("s000", &s000, NULL);' in (out / "marked.c").read_text()
    assert (out / "common.h").read_text() == '#include "harness.h"\n'


def test_another_file_is_told_from_tsvc(tmp_path):
    out = tmp_path / "out"
    out.mkdir()
    with pytest.raises(NotTsvc, match="none of the loops"):
        prepare(written(tmp_path, "int main(void) { return 0; }\n"), out, ())
    with pytest.raises(NotTsvc, match="No such file"):
        prepare(tmp_path / "other.c", out, ())
