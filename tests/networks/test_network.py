"""ps.network: what a file computes, by fewer kernels; saved as C, it computes the same."""

from __future__ import annotations

import subprocess
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest

import polysched as ps
from polysched.cli import main

pytest.importorskip("onnx")

from nets import classifier, model, right
from onnx import helper, save

IMAGE = np.random.default_rng(2).standard_normal((1, 3, 6, 6), dtype=np.float32)


@pytest.fixture(scope="module")
def net() -> ps.Network:
    return ps.network(classifier(), shapes={"x": (1, 3, 6, 6)})


def test_a_network_gives_what_the_file_says(net):
    (scores,) = net(x=IMAGE)
    assert np.allclose(scores, right(classifier(), x=IMAGE)[0], atol=1e-6)


def test_batch_norm_is_in_the_weights_and_relu_in_the_kernel(net):
    assert "BatchNormalization" in str(net.stages["read"])
    assert [group.title for group in net.groups] == ["Conv + Relu", "GlobalAveragePool", "MatMul", "Softmax"]


def test_the_report_names_kernels_and_memory(net):
    text = net.report()
    assert text.startswith("tiny: 5 operations in 4 calls of 4 kernels")
    assert "1 x Conv + Relu: f32[1, 3, 6, 6], f32[4, 3, 3, 3], f32[4] -> f32[1, 4, 6, 6]" in text


def test_the_c_files_are_built_and_give_the_same(net, tmp_path):
    folder = net.save(tmp_path / "out")
    built = subprocess.run(["make", "-s", "CFLAGS=-O1 -fwrapv"], cwd=folder, capture_output=True, text=True)
    assert built.returncode == 0, built.stderr
    printed = subprocess.run(["./example"], cwd=folder, capture_output=True, text=True, check=True).stdout
    assert np.allclose([float(line) for line in printed.split()], net(x=0 * IMAGE)[0].reshape(-1), atol=1e-5)


def test_the_command_writes_the_same_files(tmp_path, capsys):
    path = tmp_path / "tiny.onnx"
    save(model([helper.make_node("Relu", ["x"], ["y"])], {"x": ["n", 4]}, ["y"], {}), path)
    assert main(["build", str(path), "-o", str(tmp_path / "out"), "--shape", "x=2,4", "--report"]) == 0
    assert "1 x Relu: f32[2, 4] -> f32[2, 4]" in capsys.readouterr().out
    names = {each.name for each in (tmp_path / "out").iterdir()}
    assert names == {"tiny.c", "tiny.h", "tiny.bin", "example.c", "Makefile"}
    assert main(["build", str(path), "-o", str(tmp_path / "other")]) == 2
    assert "dimension 0 'n' of input 'x' is not known" in capsys.readouterr().err


def test_equal_layers_are_one_kernel():
    random = np.random.default_rng(3)
    weights = {name: random.standard_normal((4, 4), dtype=np.float32) for name in "abc"}
    nodes = [helper.make_node("MatMul", [i, w], [o]) for i, w, o in (("x", "a", "p"), ("p", "b", "q"), ("q", "c", "y"))]
    made = model(nodes, {"x": [2, 4]}, ["y"], weights)
    net = ps.network(made)
    assert (len(net.groups), len(net.kernels.nests)) == (3, 1)
    x = random.standard_normal((2, 4), dtype=np.float32)
    assert np.allclose(net(x=x)[0], right(made, x=x)[0], atol=1e-5)


def test_results_that_are_inputs_constants_or_the_same_value():
    """Each is an array of its own, and a view keeps its elements."""
    nodes = [
        helper.make_node("Identity", ["x"], ["same"]),
        helper.make_node("Relu", ["x"], ["r"]),
        helper.make_node("Flatten", ["r"], ["flat"]),
        helper.make_node("Identity", ["k"], ["constant"]),
    ]
    made = model(nodes, {"x": [2, 1, 3]}, ["same", "r", "flat", "constant"], {"k": np.arange(3, dtype=np.float32)})
    x = np.random.default_rng(4).standard_normal((2, 1, 3), dtype=np.float32)
    found = ps.network(made)(x=x)
    assert [each.shape for each in found] == [(2, 1, 3), (2, 1, 3), (2, 3), (3,)]
    assert all(np.array_equal(a, b) for a, b in zip(found, right(made, x=x), strict=True))


def test_an_input_without_elements_is_given_as_the_others(tmp_path):
    net = ps.network(model([helper.make_node("Concat", ["x", "e"], ["y"], axis=0)], {"x": [2], "e": [0]}, ["y"], {}))
    assert net(x=np.array([1, 2], np.float32), e=np.zeros(0, np.float32))[0].tolist() == [1, 2]
    folder = net.save(tmp_path)
    subprocess.run(["make", "-s"], cwd=folder, check=True)
    assert subprocess.run(["./example"], cwd=folder, capture_output=True, check=True).stdout == b"0\n0\n"


def test_a_constant_in_place_of_what_an_input_is_by_default():
    made = model(
        [helper.make_node("Add", ["x", "w"], ["y"])], {"x": [1], "w": [1]}, ["y"], {"w": np.ones(1, np.float32)}
    )
    x = np.array([1], np.float32)
    assert ps.network(made)(x=x)[0] == [2]
    assert ps.network(made, constants={"w": 5 * x})(x=x)[0] == [6]


@pytest.mark.parametrize("seed", range(3))
def test_random_networks_compute_what_the_reference_does(seed):
    """Chains and joins of nodes of one shape, grouped and not."""
    random = np.random.default_rng(seed)
    values, nodes = ["x"], []
    for k in range(8):
        kind = random.choice(["Relu", "Add", "Mul", "Tanh", "MatMul", "Softmax", "Sub"])
        operands = [str(random.choice(values))]
        if kind in ("Add", "Mul", "Sub"):
            operands.append(str(random.choice(values)))
        if kind == "MatMul":
            operands.append("w")
        nodes.append(helper.make_node(kind, operands, [f"v{k}"]))
        values.append(f"v{k}")
    weights = {"w": random.standard_normal((5, 5), dtype=np.float32) / 3}
    made = model(nodes, {"x": [3, 5]}, ["v7", "v5"], weights)
    x = random.standard_normal((3, 5), dtype=np.float32)
    for fuse in (True, False):
        found = ps.network(made, fuse=fuse)(x=x)
        assert all(np.allclose(a, b, rtol=1e-4, atol=1e-5) for a, b in zip(found, right(made, x=x), strict=True))


def test_threads_that_call_one_network_get_their_own_results():
    """They share its buffers, so that the calls come one after the other."""
    nodes = [helper.make_node("Tanh", ["x"], ["t"]), helper.make_node("MatMul", ["t", "w"], ["y"])]
    made = model(nodes, {"x": [64, 64]}, ["y"], {"w": np.eye(64, dtype=np.float32)})
    net, given = ps.network(made), [np.full((64, 64), k / 8, np.float32) for k in range(8)]
    with ThreadPoolExecutor(8) as pool:
        found = list(pool.map(lambda x: net(x=x)[0], given * 50))
    assert all(np.allclose(y, np.tanh(x), atol=1e-5) for x, y in zip(given * 50, found, strict=True))


def test_nothing_is_written_over(net, tmp_path):
    (tmp_path / "Makefile").write_text("mine")
    with pytest.raises(ps.InputError, match="Makefile' is there"):
        net.save(tmp_path)
    assert [each.name for each in tmp_path.iterdir()] == ["Makefile"]
    with pytest.raises(ps.InputError, match="cannot be written to"):
        net.save(tmp_path / "Makefile")


def test_names_of_the_file_that_c_has_for_itself(tmp_path):
    """Keywords, what the example calls, kernels, the example's own file, and the end of a comment."""
    names = ["k", "file", "k0_relu", "bool", "weights", "linux"]
    nodes = [helper.make_node("Relu", [name], [f"of {name}"]) for name in names]
    made = model(nodes, {name: [2] for name in names}, [f"of {name}" for name in names], {})
    for called in ("example", "*/ wrong /*"):
        made.graph.name = called
        folder = ps.network(made).save(tmp_path / str(len(called)))
        built = subprocess.run(["make", "-s", "CFLAGS=-O1 -fwrapv"], cwd=folder, capture_output=True, text=True)
        assert built.returncode == 0, built.stderr
        assert subprocess.run(["./example"], cwd=folder, capture_output=True, check=True).stdout == b"0\n0\n"


def test_c_divides_before_it_rounds_where_the_library_does(tmp_path):
    """In one file all kernels have the same flags."""
    nodes = [helper.make_node("QuantizeLinear", ["x", "s"], ["q"]), helper.make_node("Relu", ["x"], ["y"])]
    made = model(nodes, {"x": [8]}, ["q", "y"], {"s": np.array(0.1, np.float32)})
    assert "-freciprocal-math" not in (ps.network(made).save(tmp_path / "out") / "Makefile").read_text()


def test_constants_of_batch_norms_do_not_take_names_of_the_file():
    random = np.random.default_rng(5)
    weights = {"w": random.standard_normal((2, 3, 1, 1)), "n.bias": random.standard_normal((2,))}
    weights |= {name: random.uniform(1, 2, 2) for name in ("scale", "mean", "variance")}
    nodes = [
        helper.make_node("Conv", ["x", "w"], ["c"]),
        helper.make_node("BatchNormalization", ["c", "scale", "n.bias", "mean", "variance"], ["n"]),
        helper.make_node("Mul", ["n", "n.bias"], ["y"]),
    ]
    made = model(nodes, {"x": [1, 3, 2, 2]}, ["y"], {name: a.astype(np.float32) for name, a in weights.items()})
    x = random.standard_normal((1, 3, 2, 2), dtype=np.float32)
    assert np.allclose(ps.network(made)(x=x)[0], right(made, x=x)[0], atol=1e-5)


def test_weights_are_packed_once(tmp_path):
    """Two layers share a kernel, and each has panels of its own; so does the C, which has no function to make them."""
    random = np.random.default_rng(6)
    weights = {name: random.standard_normal((256, 256), dtype=np.float32) / 16 for name in "ab"}
    nodes = [helper.make_node("MatMul", [i, w], [o]) for i, w, o in (("x", "a", "p"), ("p", "b", "y"))]
    made = model(nodes, {"x": [64, 256]}, ["y"], weights)
    net = ps.network(made)
    assert (len(net.groups), len(net.kernels.nests)) == (2, 1)
    (first,), (second,) = (each.values() for each in net.weights)
    assert all(name.endswith("prepared") for each in net.weights for name in each)
    assert not np.array_equal(first, second)
    x = random.standard_normal((64, 256), dtype=np.float32)
    assert np.allclose(net(x=x)[0], right(made, x=x)[0], atol=1e-5)
    folder = net.save(tmp_path)
    assert "_prepare(" not in (folder / "tiny.c").read_text()
    assert first.tobytes() in (folder / "tiny.bin").read_bytes()


def test_channels_lie_last_between_convolutions():
    """Pools, joins and element-wise nodes follow; what a view shows lies as the file has it."""
    random = np.random.default_rng(7)
    weights = {
        "w": random.standard_normal((16, 3, 3, 3), dtype=np.float32) / 5,
        "u": random.standard_normal((16, 1, 3, 3), dtype=np.float32),
        "v": random.standard_normal((2, 32, 1, 1), dtype=np.float32),
        "c": random.standard_normal((16, 1, 1), dtype=np.float32),
        "of": np.array([1, -1]),
    }
    nodes = [
        helper.make_node("Conv", ["x", "w"], ["a"], pads=[1, 1, 1, 1]),
        helper.make_node("MaxPool", ["a"], ["b"], kernel_shape=[3, 3], pads=[1, 1, 1, 1]),
        helper.make_node("Conv", ["b", "u"], ["d"], group=16, pads=[1, 1, 1, 1]),
        helper.make_node("Add", ["d", "c"], ["e"]),
        helper.make_node("Concat", ["e", "a"], ["f"], axis=1),
        helper.make_node("Conv", ["f", "v"], ["g"]),
        helper.make_node("Reshape", ["g", "of"], ["y"]),
        helper.make_node("ReduceSum", ["f"], ["z"], keepdims=1),
    ]
    made = model(nodes, {"x": [2, 3, 5, 6]}, ["y", "z"], weights)
    net = ps.network(made)
    shapes = {group.title: net.kernels.nests[call.kernel].arrays[-1].shape for group, call in _calls(net)}
    assert [str(n) for n in shapes["Concat"]] == ["2", "5", "6", "32"]
    assert [str(n) for n in shapes["Conv"]] == ["2", "2", "5", "6"]  # the last one, which is shown
    x = random.standard_normal((2, 3, 5, 6), dtype=np.float32)
    assert all(np.allclose(a, b, rtol=1e-4, atol=1e-4) for a, b in zip(net(x=x), right(made, x=x), strict=True))


def _calls(net):
    return [(call.group, call) for call in net.kernels.calls]


def test_batch_norm_before_a_convolution_is_a_product_and_a_sum():
    random = np.random.default_rng(8)
    weights = {name: random.uniform(1, 2, 3).astype(np.float32) for name in ("s", "b", "m", "v")}
    weights["w"] = random.standard_normal((4, 3, 1, 1), dtype=np.float32)
    nodes = [
        helper.make_node("BatchNormalization", ["x", "s", "b", "m", "v"], ["n"]),
        helper.make_node("Relu", ["n"], ["r"]),
        helper.make_node("Conv", ["r", "w"], ["y"]),
    ]
    made = model(nodes, {"x": [2, 3, 4, 5]}, ["y"], weights)
    net = ps.network(made)
    assert [group.title for group in net.groups] == ["Mul + Add + Relu", "Conv"]
    x = random.standard_normal((2, 3, 4, 5), dtype=np.float32)
    assert np.allclose(net(x=x)[0], right(made, x=x)[0], atol=1e-5)
