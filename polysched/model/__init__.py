"""The polyhedral view; importing any part of it gives trees their text, so `str(tree)` is `show_tree(tree)`."""

from polysched.model import tree_text as tree_text
