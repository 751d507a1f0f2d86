"""Random cases of every operator, in the form of cases.json.

    python -m benchmarks.operators.random_cases --count 300 --seed 1 -o FILE
    python -m benchmarks.operators --check --cases FILE

All of them are valid and small, and take the corners more often than chance would: sizes of 1, kernels as large as the
data, padding on one side, steps beyond the kernel, channels that no tile divides.
"""

from __future__ import annotations

import argparse
import json
from collections.abc import Callable, Sequence
from math import prod
from pathlib import Path
from random import Random
from typing import Any

Args = dict[str, Any]

CHANNELS = (1, 2, 3, 4, 5, 7, 8, 13, 16, 17, 32)
KERNELS = {1: (1, 2, 3, 5, 8, 13), 2: (1, 2, 3, 3, 4, 5, 7), 3: (1, 2, 3, 3, 4)}  # by how many axes space has
MORE = {1: (0, 1, 5, 29, 64), 2: (0, 1, 4, 11, 17), 3: (0, 1, 3, 6)}  # data beyond the first window
MODES = ("asymmetric", "half_pixel", "align_corners")


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.operators.random_cases",
                                     description=__doc__.partition("\n")[0])  # fmt: skip
    parser.add_argument("--count", type=int, default=300, help="how many; of all operators about as many")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("-o", "--output", type=Path, required=True, help="the JSON file to write")
    args = parser.parse_args()
    lines = ",\n".join(json.dumps(case) for case in random_cases(args.count, args.seed))
    args.output.write_text(f"[\n{lines}\n]\n")


def random_cases(count: int, seed: int) -> list[dict[str, Any]]:
    """Cases of one operator after the other; the same ones for the same seed."""
    rng = Random(seed)
    ops = list(GENERATORS)
    return [{"op": op, "args": GENERATORS[op](rng)} for op in (ops[k % len(ops)] for k in range(count))]


# Convolutions


def _convolution(rng: Random, rank: int, *, transposed: bool = False, winograd: bool = False) -> Args:
    """The parameters that all convolutions have."""
    kernel = [rng.choice(KERNELS[rank])] * rank
    if rank > 1 and rng.random() < 0.2:
        kernel = [rng.choice(KERNELS[rank]) for _ in range(rank)]
    if winograd:
        kernel = [rng.choice((1, 2, 3, 3, 3, 4, 5, 7, 9))] * rank
    dilation = 1 if transposed or rng.random() < 0.7 else rng.choice((2, 3))
    reaches = [dilation * (k - 1) + 1 for k in kernel]
    more = [rng.choice(MORE[rank])] * rank
    if rng.random() < 0.2:
        more = [rng.choice(MORE[rank]) for _ in range(rank)]
    sizes = [m + 1 if transposed else r + m for r, m in zip(reaches, more, strict=True)]
    args = {
        "batch": rng.choice((1, 1, 1, 2, 3, 5)),
        "in_channel": rng.choice(CHANNELS),
        "in_size": _short(sizes),
        "num_filter": rng.choice(CHANNELS),
        "kernel": _short(kernel),
        "stride": 1 if winograd or rng.random() < 0.5 else _steps(rng, rank),
        "padding": _padding(rng, reaches),
    }
    return args if dilation == 1 else args | {"dilation": dilation}


def _steps(rng: Random, rank: int) -> Any:
    if rank > 1 and rng.random() < 0.2:
        return [rng.choice((1, 2, 3)) for _ in range(rank)]
    return rng.choice((1, 2, 2, 3, 4))


def _padding(rng: Random, reaches: Sequence[int]) -> Any:
    """In each of its forms, and of less than what a window reads."""
    rank = len(reaches)

    def sides(count: int) -> list[int]:
        return [rng.randint(0, reaches[k % rank] - 1) for k in range(count)]

    return rng.choice(("SAME", "VALID", 0, min(sides(rank)), min(sides(rank)), sides(rank), sides(2 * rank)))


def _short(values: Sequence[int]) -> Any:
    """One number where all of them are equal."""
    return values[0] if len(set(values)) == 1 else list(values)


def _plain(rng: Random, rank: int) -> Args:
    return _convolution(rng, rank) | _ending(rng)


def _ending(rng: Random) -> Args:
    """Sometimes a bias, sometimes relu."""
    return {name: True for name in ("add_bias", "add_relu") if rng.random() < 0.25}


def _grouped(rng: Random) -> Args:
    groups = rng.choice((1, 2, 3, 4, 8))
    several = {name: groups * rng.choice((1, 2, 3, 5)) for name in ("in_channel", "num_filter")}
    return _convolution(rng, 2) | several | {"groups": groups} | _ending(rng)


def _conv1d(rng: Random) -> Args:
    args = _convolution(rng, 1)
    names = {"in_channel": "in_channels", "in_size": "in_width", "num_filter": "filters", "kernel": "kernel_size"}
    layout = rng.choice(("NCW", "NWC"))
    return {names.get(name, name): value for name, value in args.items()} | {"layout": layout}


def _transposed(rng: Random, rank: int) -> Args:
    """Sizes and steps for each axis, padding for each side, which leaves something of the result."""
    args = _convolution(rng, rank, transposed=True)
    if rank > 1:
        for name in ("in_size", "kernel", "stride"):
            args[name] = args[name] if isinstance(args[name], list) else [args[name]] * rank
    sizes, kernels, strides = (_each(args[name], rank) for name in ("in_size", "kernel", "stride"))
    more = [rng.randint(0, s - 1) if rng.random() < 0.4 else 0 for s in strides]
    full = [(n - 1) * s + k for n, k, s in zip(sizes, kernels, strides, strict=True)]
    sides = [[rng.randint(0, min(k - 1, (n - 1) // 2)) for k, n in zip(kernels, full, strict=True)] for _ in range(2)]
    padding = rng.choice((sides[0] + sides[1], sides[0], min(sides[0]), 0))
    return args | {"padding": padding, "output_padding": more}


def _each(value: Any, rank: int) -> list[int]:
    return value if isinstance(value, list) else [value] * rank


def _winograd(rng: Random) -> Args:
    return _convolution(rng, 2, winograd=True) | _ending(rng)


def _winograd_3d(rng: Random) -> Args:
    args = _convolution(rng, 3, winograd=True)
    args = args | {"in_channel": min(args["in_channel"], 8), "num_filter": min(args["num_filter"], 8)}
    kernel, dilation = args.pop("kernel"), args.pop("dilation", 1)
    depth = rng.choice((1, kernel))
    padding = _padding(rng, [dilation * (k - 1) + 1 for k in (depth, kernel, kernel)])
    dilated = {"dilation": dilation} if dilation > 1 else {}
    return args | {"depth_kernel": depth, "space_kernel": kernel, "padding": padding} | dilated | _ending(rng)


def _deformable(rng: Random) -> Args:
    kernel, dilation = rng.choice((1, 2, 3)), rng.choice((1, 2))
    bent, groups = rng.choice((1, 2, 4)), rng.choice((1, 1, 2))
    return {
        "batch": rng.choice((1, 2)),
        "in_channel": bent * groups * rng.choice((1, 2, 3)),
        "in_size": dilation * (kernel - 1) + 1 + rng.choice((0, 1, 4, 9)),
        "num_filter": groups * rng.choice(CHANNELS),
        "kernel": kernel,
        "stride": rng.choice((1, 1, 2)),
        "padding": rng.randint(0, kernel),
        "dilation": dilation,
        "deformable_groups": bent,
        **({"groups": groups} if groups > 1 else {}),
    }


def _depthwise(rng: Random) -> Args:
    kernel, dilation = rng.choice((1, 2, 3, 3, 5, 7)), rng.choice((1, 1, 2))
    reach = dilation * (kernel - 1) + 1
    return {
        "batch": rng.choice((1, 1, 2, 4)),
        "in_channel": rng.choice(CHANNELS),
        "in_height": reach + rng.choice(MORE[2]),
        "channel_multiplier": rng.choice((1, 1, 2, 3)),
        "filter_height": kernel,
        "stride": rng.choice((1, 1, 2, 3)),
        "padding": _padding(rng, [reach] * 2),
        **({"dilation": dilation} if dilation > 1 else {}),
        **rng.choice(({}, {"layout": rng.choice(("NCHW", "NHWC"))})),
    }


def _gradient(rng: Random) -> Args:
    kernel = rng.choice((1, 2, 3, 3, 4, 5))
    return {
        "batch": rng.choice((1, 2, 5)),
        "in_channel": rng.choice(CHANNELS),
        "in_h": kernel + rng.choice(MORE[2]),
        "channel_multiplier": rng.choice((1, 1, 2, 3)),
        "filter_h": kernel,
        "stride_h": rng.choice((1, 1, 2, 3)),
        "padding_h": rng.randint(0, kernel - 1),
    }


# Products of matrices, and what is done element by element


def _extent(rng: Random) -> int:
    return rng.choice((1, 2, 3, 7, 16, 31, 64, 100, 129))


def _dense(rng: Random) -> Args:
    sizes = {name: _extent(rng) for name in ("batch", "in_dim", "out_dim")}
    return sizes | {"use_bias": rng.random() < 0.5}


def _batch_matmul(rng: Random) -> Args:
    batch = rng.choice((1, 2, 5, 12))
    x, y = rng.choice(((batch, batch), (batch, 1), (1, batch)))
    return {"x_batch": x, "y_batch": y} | {name: _extent(rng) for name in "MNK"}


def _clip(rng: Random) -> Args:
    low = rng.randint(-127, 100)
    dtype = rng.choice(("int8", "int16", "int32", "float32", "float16", "float64"))
    return {"N": _extent(rng), "a_min": low, "a_max": rng.randint(low, 127), "dtype": dtype}


def _relu(rng: Random) -> Args:
    dtype = rng.choice(({}, {"dtype": "float16"}, {"dtype": "float64"}, {"dtype": "int8"}))
    return {"m": _extent(rng) * rng.choice((1, 50)), "n": _extent(rng)} | dtype


def _reduce(rng: Random) -> Args:
    shape = [rng.choice((1, 2, 3, 8, 15, 24, 33)) for _ in range(rng.randint(1, 4))]
    kind = rng.choice(("sum", "prod", "max", "min", "any", "all", "argmax", "argmin"))
    one = rng.randrange(-len(shape), len(shape))
    some = sorted(rng.sample(range(len(shape)), rng.randint(1, len(shape))))
    axis = rng.choice((None, one) if kind.startswith("arg") else (None, one, some))
    args = {"in_shape": shape, "axis": axis, "keepdims": rng.random() < 0.5, "type": kind}
    if kind in ("any", "all"):
        return args | {"dtype": "bool"}
    integers = () if kind == "prod" else ("int32", "int64")  # which would overflow
    return args | rng.choice(({}, {"dtype": rng.choice(("float32", "float64", "float16", *integers))}))


def _batch_to_space(rng: Random) -> Args:
    blocks = [rng.choice((1, 2, 2, 3, 4)) for _ in range(rng.choice((1, 2, 2, 3)))]
    space = [rng.choice((1, 2, 5, 8)) for _ in blocks]
    rest = [rng.choice((1, 3, 7)) for _ in range(rng.choice((0, 1, 1)))]
    begin = [rng.randint(0, (n * b - 1) // 2) for n, b in zip(space, blocks, strict=True)]
    end = [rng.randint(0, (n * b - 1) // 2) for n, b in zip(space, blocks, strict=True)]
    shape = [prod(blocks) * rng.choice((1, 2, 5)), *space, *rest]
    return {"input_shape": shape, "block_shape": blocks, "crop_begin_list": begin, "crop_end_list": end}


# Images


def _leading(rng: Random) -> Args:
    return {"batch": rng.choice((1, 2, 4)), "in_channel": rng.choice(CHANNELS)}


def _upsampling(rng: Random) -> Args:
    sides = rng.choice((("height", "width"), ("depth", "height", "width")))
    method = rng.choice(("nearest_neighbor", "bilinear" if len(sides) == 2 else "trilinear"))
    args = _leading(rng) | {f"in_{side}": rng.choice((1, 2, 5, 8, 11)) for side in sides}
    args |= {f"scale_{side[0]}": rng.choice((1.0, 2.0, 3.0, 1.5, 1.954545497894287, 4.0)) for side in sides}
    axes = "".join(side[0].upper() for side in sides)
    form = rng.choice(("", f"NC{axes}", f"N{axes}C", "blocks", "packed") if len(sides) == 2 else ("", f"N{axes}C"))
    if form in ("blocks", "packed"):
        batches, channels = rng.choice((1, 2)), rng.choice((1, 4, 16))
        args |= {"in_batch_block": batches, "in_channel_block": channels}
        form = f"NCHW{batches}n{channels}c" if form == "packed" else ""
    return args | ({"layout": form} if form else {}) | {"method": method}


def _image(rng: Random) -> Args:
    return rng.choice((_resize, _resize, _resize, _crop_and_resize, _affine_grid, _grid_sample))(rng)


def _resize(rng: Random) -> Args:
    axes = rng.choice(("HW", "DHW"))
    names = {"D": "depth", "H": "height", "W": "width"}
    args = _leading(rng)
    args |= {f"{way}_{names[axis]}": rng.choice((1, 2, 5, 8, 13, 20)) for way in ("in", "out") for axis in axes}
    layout = rng.choice(({}, {"layout": f"NC{axes}"}, {"layout": f"N{axes}C"}))
    mode = "coord_trans" if axes == "HW" else "coordinate_transformation_mode"
    methods = ("nearest_neighbor", "linear", "bilinear" if axes == "HW" else "trilinear")
    more = {mode: rng.choice(MODES)}, {"method": rng.choice(methods)}
    return args | layout | rng.choice(({}, more[0])) | rng.choice(({}, more[1]))


def _crop_and_resize(rng: Random) -> Args:
    images, channels = rng.choice((1, 3)), rng.choice((1, 3, 5))
    high, wide = rng.choice((1, 9, 40)), rng.choice((2, 31))
    layout, count = rng.choice(("NHWC", "NCHW")), rng.choice((1, 2, 5))
    shape = [images, high, wide, channels] if layout == "NHWC" else [images, channels, high, wide]
    return {
        "fn": "crop_and_resize",
        "image_shape": shape,
        "boxes": [[rng.choice((0, 1, round(rng.uniform(-0.1, 1.1), 2))) for _ in range(4)] for _ in range(count)],
        "box_ind": [rng.randrange(images) for _ in range(count)],
        "size": [rng.choice((1, 7, 11)), rng.choice((1, 3, 20))],
        "layout": layout,
        **rng.choice(({}, {"method": "nearest_neighbor"}, {"method": "bilinear", "extrapolation_value": 0.3})),
    }


def _affine_grid(rng: Random) -> Args:
    shape = [rng.choice((1, 2, 16, 33)), rng.choice((1, 3, 32))]
    return {"fn": "affine_grid", "num_batch": rng.choice((1, 4)), "target_shape": shape}


def _grid_sample(rng: Random) -> Args:
    batch = rng.choice((1, 3))
    data = [batch, rng.choice((1, 4)), rng.choice((1, 5, 16)), rng.choice((1, 8, 32))]
    grid = [batch, 2, rng.choice((1, 7)), rng.choice((1, 8, 32))]
    return {"fn": "grid_sample", "data_shape": data, "grid_shape": grid}


def _of(generator: Callable[..., Args], *given: Any) -> Callable[[Random], Args]:
    return lambda rng: generator(rng, *given)


GENERATORS: dict[str, Callable[[Random], Args]] = {
    "batch_matmul": _batch_matmul,
    "batch_to_space_nd": _batch_to_space,
    "clip": _clip,
    "reduce": _reduce,
    "relu": _relu,
    "upsampling": _upsampling,
    "conv1d": _conv1d,
    "conv1d_transpose_ncw": _of(_transposed, 1),
    "conv2d_hwcn": _of(_convolution, 2),
    "conv2d_int8": _of(_plain, 2),
    "conv2d_nhwc": _of(_convolution, 2),
    "conv2d_nchw": _of(_plain, 2),
    "conv2d_transpose_nchw": _of(_transposed, 2),
    "conv2d_nhwc_winograd": _winograd,
    "conv2d_winograd": _winograd,
    "conv3d_ncdhw": _of(_plain, 3),
    "conv3d_ndhwc": _of(_convolution, 3),
    "conv3d_transpose_ncdhw": _of(_transposed, 3),
    "conv3d_winograd": _winograd_3d,
    "group_conv2d": _grouped,
    "group_conv2d_int8": _grouped,
    "deformable_conv2d": _deformable,
    "depthwise_conv2d": _depthwise,
    "depthwise_conv2d_back_input": _gradient,
    "depthwise_conv2d_back_weight": _gradient,
    "dense": _dense,
    "image": _image,
}


if __name__ == "__main__":
    main()
