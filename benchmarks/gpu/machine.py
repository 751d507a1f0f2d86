"""What the GPU could do at most, and what stands in the way of using it.

    gpu = this_gpu()        LaunchError, which says what is missing
    gpu.floor(work)         milliseconds, and whether bytes or operations decide
"""

from __future__ import annotations

from dataclasses import dataclass
from importlib import import_module

from benchmarks.gpu.work import Work
from polysched.runtime.gpu.cuda_driver import on_gpu

# Bytes a second from memory; operations a second on float and on double, without tensor cores, and on half with them;
# from data sheets.
_PEAKS = {
    "H200": (4.8e12, 67e12, 34e12, 989e12),
    "H100 PCIe": (2.0e12, 51e12, 26e12, 756e12),
    "H100": (3.35e12, 67e12, 34e12, 989e12),
    "A100": (2.0e12, 19.5e12, 9.7e12, 312e12),
    "V100": (0.9e12, 15.7e12, 7.8e12, 125e12),
    "L40S": (0.864e12, 91.6e12, 1.43e12, 362e12),
    "L4": (0.3e12, 30.3e12, 0.49e12, 121e12),
    "T4": (0.32e12, 8.1e12, 0.25e12, 65e12),
}
_COPIED = 1 << 30  # bytes of a copy on the device that shows its bandwidth


@dataclass(frozen=True)
class Peaks:
    """A GPU; bytes and operations are per second."""

    name: str
    arch: str
    bandwidth: float
    f32: float
    f64: float
    f16: float  # by tensor cores
    copied: float  # bytes read and written by a copy on the device: what of the bandwidth can be had

    def floor(self, work: Work, *, is_cut: bool = False) -> tuple[float, str]:
        """The least milliseconds, and what decides: "bytes" or "operations", on floats cut to tf32 if so asked."""
        bytes_ms = 1e3 * work.moved / self.bandwidth
        in_tensors = self.f16 * 16 / work.narrowest  # twice as many on bytes
        rate = in_tensors if work.narrowest <= 16 or is_cut else self.f64 if work.bits == 64 else self.f32
        operations_ms = 1e3 * work.operations / rate
        return max((bytes_ms, "bytes"), (operations_ms, "operations"))

    def __str__(self) -> str:
        return (
            f"{self.name}, {self.arch}: {self.bandwidth / 1e12:.2f} TB/s ({self.copied / 1e12:.2f} by a copy), "
            f"{self.f32 / 1e12:.0f} TFLOP/s float, {self.f64 / 1e12:.1f} double, {self.f16 / 1e12:.0f} half"
        )


def this_gpu() -> Peaks:
    """The GPU that kernels run on."""
    with on_gpu("cuda", {}) as gpu:
        driver = import_module("cuda.bindings.driver")
        _, device = driver.cuCtxGetDevice()
        name = driver.cuDeviceGetName(128, device)[1].decode().strip("\0 ")
        peaks = next((peaks for key, peaks in _PEAKS.items() if key in name), None) or _by_attributes(driver, device)
        memory = [gpu.allocate(_COPIED) for _ in range(2)]
        samples = [gpu.milliseconds(lambda: gpu.copy(*memory, _COPIED)) for _ in range(4)]
        for at in memory:
            gpu.release(at)
        return Peaks(name, gpu.arch, *peaks, copied=2e3 * _COPIED / min(samples))


def _by_attributes(driver, device) -> tuple[float, float, float, float]:  # type: ignore[no-untyped-def]
    """A guess: two transfers a clock, 128 cores for float a multiprocessor, a 64th of that for double, 8 times that for
    half."""
    names = driver.CUdevice_attribute

    def attribute(name: str) -> int:
        return int(driver.cuDeviceGetAttribute(getattr(names, f"CU_DEVICE_ATTRIBUTE_{name}"), device)[1])

    bandwidth = 2e3 * attribute("MEMORY_CLOCK_RATE") * attribute("GLOBAL_MEMORY_BUS_WIDTH") / 8
    f32 = 2e3 * attribute("CLOCK_RATE") * attribute("MULTIPROCESSOR_COUNT") * 128
    return bandwidth, f32, f32 / 64, 8 * f32
