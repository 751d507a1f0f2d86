"""A recurrence over a few steps, unrolled by Python's loop: an LSTM, whose every step is two products and five maps."""

import numpy as np
import pytest

import polysched as ps


@ps.op
def lstm(
    x: ps.f32[7, "B", "I"],
    wx: ps.f32["I", "4*H"],
    wh: ps.f32["H", "4*H"],
    b: ps.f32["4*H"],
    h0: ps.f32["B", "H"],
    c0: ps.f32["B", "H"],
) -> ps.f32["B", "H"]:
    h, c, H = h0, c0, h0.shape[1]
    for t in range(7):
        g = x[t] @ wx + h @ wh + b
        i = 1 / (1 + np.exp(-g[:, :H]))
        f = 1 / (1 + np.exp(-g[:, H : 2 * H]))
        o = 1 / (1 + np.exp(-g[:, 2 * H : 3 * H]))
        c = f * c + i * np.tanh(g[:, 3 * H :])
        h = o * np.tanh(c)
    return h


@pytest.mark.slow
def test_its_steps_are_compiled_in_time_and_right():
    done = ps.optimize(lstm)
    assert done.fallbacks == {}
    rng = np.random.default_rng(0)
    batch, inputs, state = 3, 5, 4
    shapes = {
        "x": (7, batch, inputs),
        "wx": (inputs, 4 * state),
        "wh": (state, 4 * state),
        "b": (4 * state,),
        "h0": (batch, state),
        "c0": (batch, state),
    }
    given = {name: rng.standard_normal(shape).astype(np.float32) for name, shape in shapes.items()}
    out = np.empty((batch, state), np.float32)
    done(**given, h=out)
    assert np.allclose(out, lstm(**given), rtol=1e-4, atol=1e-5)
