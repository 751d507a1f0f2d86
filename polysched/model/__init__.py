"""The polyhedral view; importing any part of it gives trees their text, `str(tree)`, and their look in notebooks."""

from polysched.model.tree import html as html
from polysched.model.tree import text as text
