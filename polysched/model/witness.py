"""A concrete case: the smallest sizes at which a set has a point, and its first point."""

from __future__ import annotations

from contextlib import suppress

from polysched.support import isl


def smallest(points: isl.Set) -> tuple[dict[str, int], tuple[int, ...]]:
    """Sizes by name, and coordinates, of a point of a set that is not empty: the smallest, sizes first, if any is."""
    names = isl.sizes_of(points)
    flat = points.flatten().move_dims(isl.dim_type.set, 0, isl.dim_type.param, 0, len(names))
    for k in range(len(names)):
        positive = flat.lower_bound_val(isl.dim_type.set, k, isl.Val(0))
        flat = flat if positive.is_empty() else positive
    with suppress(isl.Error):  # unbounded below: any point will do
        first = flat.lexmin()  # isl finds none in some sets of residues that do have points: then any point will do
        flat = flat if first.is_empty() else first
    values = isl.coordinates(flat.sample_point())
    return dict(zip(names, values, strict=False)), values[len(names) :]
