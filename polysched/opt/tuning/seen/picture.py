"""A search as a matplotlib figure: best over trials, predicted against measured, decisions, time against build time."""

from __future__ import annotations

from collections.abc import Sequence
from importlib import import_module
from typing import Any

from polysched.opt.tuning.seen.history import History
from polysched.opt.tuning.seen.importance import Importance
from polysched.plot.figure import INK, require_matplotlib

_STYLE = {"font.size": 9, "text.color": INK, "axes.edgecolor": INK, "axes.labelcolor": INK, "axes.linewidth": 0.6}
_STATES = {  # Okabe and Ito's colors
    "confirmed": "#009e73",
    "measured": "#0072b2",
    "noisy": "#999999",
    "slow": "#d55e00",
    "static": "#cc79a7",
}
_SHOWN = 8  # decisions


def picture(history: History, important: Sequence[Importance]) -> Any:
    """A Figure; PolyschedError without matplotlib."""
    with require_matplotlib().rc_context(_STYLE):
        figure = import_module("polysched.plot.picture").Picture(figsize=(9.6, 6.6), layout="constrained")
        axes = figure.subplots(2, 2)
        _trials(axes[0, 0], history)
        _predicted(axes[0, 1], history)
        _decisions(axes[1, 0], important)
        _built(axes[1, 1], history)
        where = f" at {history.task.sizes}" if history.task.sizes else ""
        how = ", by a static estimate: nothing was measured" if history.is_static else ""
        figure.suptitle(f"{history.task.name}{where}: {len(history.measured)} kernels{how}")
    return figure


def _trials(axes: Any, history: History) -> None:
    """Each kernel, and the best so far."""
    axes.step(range(1, len(history.best) + 1), history.best, where="post", color=INK, linewidth=1, label="best so far")
    for state, color in _STATES.items():
        known = [(k, each.ratio) for k, each in enumerate(history.measured, 1) if each.state == state and each.ratio]
        if known:
            axes.scatter(*zip(*known, strict=True), s=14, color=color, label=state)
    axes.axhline(1.0, color=INK, linewidth=0.4)
    axes.set(xlabel="trial", ylabel="times as fast as the default", title="Best over trials")
    axes.legend(frameon=False, fontsize=8)


def _predicted(axes: Any, history: History) -> None:
    rank = history.rank
    if history.predicted:
        axes.scatter(*zip(*history.predicted, strict=True), s=14, color=_STATES["measured"])
        ends = [pick(map(pick, history.predicted)) for pick in (min, max)]
        axes.plot(ends, ends, color=INK, linewidth=0.4)
    title = "Predicted against measured" + (f": Spearman {rank:.2f}" if rank is not None else "")
    axes.set(xlabel="predicted, times as fast as the default", ylabel="measured", title=title)


def _decisions(axes: Any, important: Sequence[Importance]) -> None:
    shown = list(reversed(important[:_SHOWN]))
    axes.barh([each.key for each in shown], [100 * (each.factor - 1) for each in shown], color=_STATES["measured"])
    axes.set(xlabel="% that predictions are off more if it is shuffled", title="Which decisions mattered")
    if not shown:
        axes.text(0.5, 0.5, "too few measurements to tell", ha="center", va="center", transform=axes.transAxes)


def _built(axes: Any, history: History) -> None:
    timed = [each for each in history.timed if each.build_seconds is not None and each.milliseconds]
    known = [(each.build_seconds, each.milliseconds) for each in timed]
    if known:
        axes.scatter(*zip(*known, strict=True), s=14, color=_STATES["measured"])
        front = [(each.build_seconds, each.milliseconds) for each in history.front]
        axes.step(*zip(*front, strict=True), where="post", color=INK, linewidth=1, label="Pareto front")
        axes.legend(frameon=False, fontsize=8)
    axes.set(xlabel="seconds to build", ylabel="milliseconds of a call", title="Time against build time")
