"""Settings of the documentation: `make docs` builds it into out/docs without network."""

import os
import re
import sys
from pathlib import Path
from typing import Any

HERE = Path(__file__).resolve().parent
sys.path[:0] = [str(HERE.parent), str(HERE / "site")]
os.environ.setdefault("MPLBACKEND", "Agg")

import treemech  # noqa: E402

project, author = "treemech", "the treemech authors"
copyright = "the treemech authors, BSD 3-Clause"
version = release = treemech.__version__

extensions = [
    "myst_parser", "sphinx.ext.autodoc", "sphinx.ext.napoleon", "sphinx.ext.viewcode", "gallery",
]  # fmt: skip
source_suffix = {".md": "markdown"}
root_doc = "index"
exclude_patterns = ["site/*"]

myst_enable_extensions = ["colon_fence"]
myst_heading_anchors = 3

autodoc_member_order = "bysource"
autodoc_typehints = "none"
autodoc_default_options = {"members": True}
napoleon_numpy_docstring, napoleon_google_docstring = True, False
napoleon_use_ivar = True
add_module_names = False
suppress_warnings = ["ref.python"]  # words in `single quotes` of docstrings that several classes use

html_theme = "pydata_sphinx_theme"
html_title = "treemech"
highlight_language = "none"  # of blocks that name none

html_context = {"default_mode": "auto"}
html_show_sourcelink = False
templates_path = ["site/templates"]
html_static_path = ["site/static"]
html_css_files = ["site.css"]
html_theme_options = {
    "show_nav_level": 1,
    "navigation_with_keys": True,
    "show_toc_level": 2,
    "navbar_center": [],  # all pages stand in the sidebar, under Learn, Do and Look up
    "navbar_end": ["theme-switcher"],
    "footer_start": ["copyright"],
    "footer_end": [],
}
html_sidebars = {"index": [], "**": ["pages.html"]}


def without_substitutions(
    app: object, what: str, name: str, thing: object, options: object, lines: list[str]
) -> None:
    """Escape the bars of |c| in docstrings, which would be substitutions; formulas in literal blocks stay."""
    literal, depth = False, 0
    for k, line in enumerate(lines):
        indent = len(line) - len(line.lstrip())
        if literal and line.strip() and indent <= depth:
            literal = False
        if not literal:
            lines[k] = "`".join(
                part if n % 2 else part.replace("|", "\\|") for n, part in enumerate(line.split("`"))
            )
            if line.rstrip().endswith("::"):
                literal, depth = True, indent


def attributes_together(
    app: object, what: str, name: str, thing: object, options: object, lines: list[str]
) -> None:
    """Join "q, u : arrays" of a list of attributes into one name; napoleon would take the first for a type."""
    inside = False
    for k, line in enumerate(lines):
        if k + 1 < len(lines) and re.fullmatch(r" *-{3,}", lines[k + 1]):
            inside = line.strip() == "Attributes"
        elif inside:
            lines[k] = re.sub(r"^( *\w+(?:, \w+)+)(?= : )", lambda m: m[1].replace(", ", ","), line)


def setup(app: Any) -> None:
    """Add the changes of docstrings."""
    app.connect("autodoc-process-docstring", attributes_together, priority=100)
    app.connect("autodoc-process-docstring", without_substitutions, priority=900)
