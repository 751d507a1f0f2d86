from __future__ import annotations

import shutil
from dataclasses import replace

import pytest

from polysched.codegen.emit.cuda import emit_cuda
from polysched.codegen.memory.linearize import linearize
from polysched.errors import ToolchainError
from polysched.ir.build import add, load, mul, store, var
from polysched.ir.dtypes import ALL, f32
from polysched.ir.nodes import Array
from polysched.runtime.gpu import cuda_compile
from polysched.runtime.gpu.cuda_compile import cubin, find_cuda_compiler
from tests.codegen.operations import every_operation
from tests.nests import loop, nest

n, i = var("n"), var("i")
V = Array("V", f32, (n,))
FN = nest("scale", "n", [V], loop("i", 0, n, store(V, (i,), add(mul(load(V, i), 2.0), 1.0)), kind="thread.x"))


def has_nvrtc():
    return cuda_compile._nvrtc() is not None


@pytest.fixture(params=["nvrtc", "nvcc"])
def compiler(request, monkeypatch):
    if request.param == "nvrtc" and not has_nvrtc():
        pytest.skip("needs NVRTC, of the extra [cuda]")
    if request.param == "nvcc":
        if shutil.which("nvcc") is None:
            pytest.skip("needs nvcc")
        monkeypatch.setattr(cuda_compile, "_nvrtc", lambda: None)
    return find_cuda_compiler()


def test_kernels_become_machine_code_without_a_gpu(compiler):
    assert compiler.name.lower().startswith(("nvrtc 1", "nvcc "))
    code = cubin(emit_cuda(linearize(FN)), "sm_90")
    assert code.startswith(b"\x7fELF")
    assert b".text.scale_k0\0" in code  # a name that can be found


def test_contraction_is_a_choice(compiler):
    source = emit_cuda(linearize(FN))
    assert cubin(source, "sm_90") != cubin(source, "sm_90", contract=True)


def test_every_operation_compiles(compiler):
    for name in ("f16", "f64", "i8", "i64"):
        assert cubin(emit_cuda(linearize(every_operation(ALL[name]))), "sm_90").startswith(b"\x7fELF")


def test_a_text_that_does_not_compile_shows_command_message_and_line(compiler):
    source = emit_cuda(linearize(FN))
    broken = replace(source, device=source.device.replace("2.0f", "two"))
    with pytest.raises(ToolchainError) as error:
        cubin(broken, "sm_90")
    command, *message, line = str(error.value).splitlines()
    assert command.startswith(f"the compiler failed: {compiler.name}: -arch=sm_90 ")
    assert command.endswith("-fmad=false scale.cu")
    assert 'identifier "two" is undefined' in "".join(message)
    assert line.startswith("line ")
    assert "two" in line


def test_without_a_compiler_the_error_names_both(monkeypatch):
    monkeypatch.setattr(cuda_compile, "_nvrtc", lambda: None)
    monkeypatch.setattr(cuda_compile, "_nvcc", lambda: None)
    message = r'neither NVRTC, which pip install "polysched\[cuda\]" brings, nor nvcc; the text is in .source'
    with pytest.raises(ToolchainError, match=message):
        cubin(emit_cuda(linearize(FN)), "sm_90")
