"""The table of `python -m benchmarks.tuning`, as Markdown."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from statistics import geometric_mean, mean, median

from benchmarks.tuning.held_out import HeldOut
from polysched.results.tuned.database import Measurement

HEAD = ("kernel", "measured (noisy)", "default, ms", "best", "interval", "rank", "by cost", "model alone", "regret")


def table(measured: Mapping[str, Sequence[Measurement]], held: Mapping[str, HeldOut]) -> str:
    rows = [_row(name, found, held.get(name)) for name, found in measured.items() if found]
    gains = [best.ratio or 1.0 if (best := _best(found)) else 1.0 for found in measured.values() if found]
    lines = [HEAD, ("---", *["---:"] * (len(HEAD) - 1)), *rows]
    shown = [f"| {' | '.join(row)} |" for row in lines]
    if gains:
        shown += ["", f"best: geometric mean {geometric_mean(gains):.2f} of {len(gains)} kernels"]
    if held:
        shown.append(_said(list(held.values())))
    return "\n".join(shown)


def _row(name: str, found: Sequence[Measurement], held: HeldOut | None) -> tuple[str, ...]:
    best = _best(found)
    times = [each.default_milliseconds for each in found if each.default_milliseconds]
    gain = (f"{best.ratio:.2f}", f"{best.low:.2f} to {best.high:.2f}") if best else ("1", "")
    noisy = sum(each.state == "noisy" for each in found)
    return name, f"{len(found)} ({noisy})", f"{median(times):.3g}" if times else "", *gain, *_model(held)


def _model(held: HeldOut | None) -> Sequence[str]:
    return (_rank(held.rank), _rank(held.rank_by_cost), f"{held.alone:.2f}", f"{held.regret:.0%}") if held else [""] * 4


def _best(found: Sequence[Measurement]) -> Measurement | None:
    """The fastest that is confirmed; None if that is the default."""
    won = [each for each in found if each.state == "confirmed"]
    return max(won, key=lambda each: each.ratio or 0.0, default=None)


def _rank(rank: float | None) -> str:
    return "" if rank is None else f"{rank:.2f}"


def _said(held: Sequence[HeldOut]) -> str:
    ranks = [each.rank for each in held if each.rank is not None]
    by_cost = [each.rank_by_cost for each in held if each.rank_by_cost is not None]
    parts = [f"regret {mean(each.regret for each in held):.0%} in the mean"]
    parts += [f"model alone {geometric_mean(max(each.alone, 0.01) for each in held):.2f}"]
    parts += [f"{name} {mean(of):.2f} in the mean" for name, of in (("rank", ranks), ("by cost", by_cost)) if of]
    return "the model, of kernels that it has not seen: " + ", ".join(parts)
