"""A matplotlib figure that notebooks show, once: pyplot, which would show it in the end of the cell too, is left alone.

Imported where matplotlib is known to be there.
"""

from __future__ import annotations

from io import BytesIO

from matplotlib.figure import Figure


class Picture(Figure):
    """Shown where it is the last line of a cell, whether or not pyplot's support for notebooks is on."""

    def _repr_png_(self) -> bytes:
        buffer = BytesIO()
        self.savefig(buffer, format="png", facecolor="white")
        return buffer.getvalue()
