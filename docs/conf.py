"""The site, which `make docs` builds.

With Sphinx, not MkDocs: it reads Python's objects for the reference, runs notebooks written as text (MyST-NB), and can
fail on links that lead nowhere. Pages are Markdown, and tests run what they show at a prompt.
"""

from __future__ import annotations

import sys
from pathlib import Path

HERE = Path(__file__).parent
sys.path.insert(0, str(HERE.parent))

from nbclient import NotebookClient  # noqa: E402

from docs.site_parts import accessible, docstrings, gallery, results  # noqa: E402
from polysched import __version__  # noqa: E402

# Kernels warn that they talk over a port, which they do on this machine alone.
NotebookClient.extra_arguments.default_args = (["--log-level=ERROR"],)

project = "polysched"
author = "the authors of polysched"
copyright = "the authors of polysched"
release = __version__

extensions = ["myst_nb", "sphinx.ext.autodoc", "sphinx.ext.viewcode", "sphinx_copybutton"]
exclude_patterns = ["site_parts"]

html_theme = "furo"
html_title = "polysched"
copybutton_prompt_text = r">>> |\.\.\. |\$ "
copybutton_prompt_is_regexp = True

myst_heading_anchors = 3
smartquotes = False
nb_merge_streams = True
nb_execution_mode = "force"
nb_execution_timeout = 300
nb_execution_raise_on_error = True

autodoc_typehints = "signature"
maximum_signature_line_length = 100


def _generate(app) -> None:
    gallery.write(HERE / "generated" / "gallery")
    results.write(HERE / "generated" / "results")


def _measurements_in_the_site(app, name: str, text: list[str]) -> None:
    """Measurements stand in the repository, and on the site as the page with their plots."""
    text[0] = text[0].replace("(../benchmarks/RESULTS.md)", "(generated/results/index.md)")


def setup(app) -> None:
    accessible.connect(app)
    docstrings.connect(app)
    app.connect("builder-inited", _generate)
    app.connect("source-read", _measurements_in_the_site)
