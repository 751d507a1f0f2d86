"""The loop IR; importing any part of it gives the nodes their text, so `str(node)` is `show(node)`."""

from polysched.ir import text as text
