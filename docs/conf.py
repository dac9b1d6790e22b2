"""How the documentation is built: ``python -m sphinx -W --keep-going -b html docs build/docs``."""

import re
from importlib.metadata import version as installed_version
from typing import Any

project = "intensor"
author = "The intensor developers"
version = release = installed_version("intensor")

extensions = ["myst_parser", "sphinx.ext.autodoc", "sphinx.ext.mathjax", "numpydoc"]
exclude_patterns = ["_build"]

html_theme = "furo"
html_title = f"intensor {release}"
html_copy_source = False
html_show_copyright = False

myst_enable_extensions = ["dollarmath"]
myst_heading_anchors = 3

autodoc_member_order = "bysource"
autodoc_typehints_format = "short"
python_use_unqualified_type_names = True
maximum_signature_line_length = 88
autodoc_type_aliases = {
    alias: alias
    for alias in (
        "AnyArray",
        "ArrayLike",
        "Callback",
        "FlagArray",
        "FloatArray",
        "IndexArray",
        "Shape",
        "Watch",
        "WordArray",
    )
}
numpydoc_show_class_members = False


def name_aliases(_app: Any, *parts: Any) -> tuple[str, str | None] | None:
    """Write an alias in a signature by its name, where Sphinx leaves its own wrapper around it."""
    *_, signature, returned = parts
    if not signature:
        return None
    wrapper = re.compile(r"TypeAliasForwardRef\('(\w+)'\)")
    return wrapper.sub(r"\1", signature), returned and wrapper.sub(r"\1", returned)


def setup(app: Any) -> None:
    """Connect what is done to signatures."""
    app.connect("autodoc-process-signature", name_aliases)
