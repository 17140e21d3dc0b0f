"""Settings of the documentation site: `make docs` builds it, offline."""

import sys
from pathlib import Path

HERE = Path(__file__).resolve().parent
sys.path.insert(0, str(HERE.parent))

from glasshouse import __version__  # noqa: E402

project = "glasshouse"
author = "the authors of glasshouse"
copyright = "the authors of glasshouse, Apache-2.0"
version = release = __version__

extensions = ["sphinx.ext.autodoc", "numpydoc", "myst_parser", "sphinx_design", "tools.site.extension"]
source_suffix = {".rst": "restructuredtext", ".md": "markdown"}
exclude_patterns = ["_build", "_kept", "app/*.md"]
nitpicky = False

myst_enable_extensions = ["colon_fence", "deflist", "substitution"]
myst_heading_anchors = 3
suppress_warnings = ["myst.strikethrough"]

# docstrings say their parameters themselves; types stand in the signature
autodoc_typehints = "signature"
autodoc_member_order = "bysource"
autodoc_preserve_defaults = True
python_use_unqualified_type_names = True
python_maximum_signature_line_length = 88
numpydoc_show_class_members = False
numpydoc_show_inherited_class_members = False
numpydoc_class_members_toctree = False

html_theme = "pydata_sphinx_theme"
html_title = "glasshouse"
html_static_path = ["_static"]
html_css_files = ["glasshouse.css"]
html_extra_path = sorted(path.name for path in HERE.glob("*.schema.json"))
html_show_sourcelink = False
html_copy_source = False
html_theme_options = {
    "navbar_align": "left",
    "navbar_end": ["theme-switcher"],
    "show_prev_next": True,
    "secondary_sidebar_items": ["page-toc"],
    "footer_start": ["copyright"],
    "footer_end": [],
    "header_links_before_dropdown": 8,
    "navigation_with_keys": False,
    "logo": {"text": "glasshouse"},
}
html_sidebars = {"index": [], "measure/index": [], "gallery": []}
pygments_style = "default"
