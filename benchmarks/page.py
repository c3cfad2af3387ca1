"""Tables of a run put into a page of the documentation, between marks: ``<!-- name -->`` and ``<!-- end -->``."""

from collections.abc import Mapping
from pathlib import Path


def filled(text: str, tables: Mapping[str, str]) -> str:
    """Replace what stands between the marks of each name; return the text.

    >>> filled("a <!-- t -->old<!-- end --> b", {"t": "new"})
    'a <!-- t -->\\n\\nnew\\n\\n<!-- end --> b'
    """
    for name, table in tables.items():
        mark = f"<!-- {name} -->"
        if mark not in text:
            raise ValueError(f"the page has no place for {name!r}: wanted {mark} and <!-- end -->.")
        before, _, rest = text.partition(mark)
        text = f"{before}{mark}\n\n{table}\n\n<!-- end -->{rest.partition('<!-- end -->')[2]}"
    return text


def fill_page(path: Path, tables: Mapping[str, str]) -> None:
    """Rewrite a page with new tables."""
    path.write_text(filled(path.read_text(encoding="utf-8"), tables), encoding="utf-8")
