"""The polyhedral view; importing any part of it gives trees their text, `str(tree)`, and their look in notebooks."""

from polysched.model import tree_html as tree_html
from polysched.model import tree_text as tree_text
