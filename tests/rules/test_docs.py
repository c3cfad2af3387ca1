"""Pages that lead through the code name files and folders that exist."""

import re

import pytest

from tests.support.places import ROOT
from tests.support.source_files import FOLDERS

PAGES = [
    ROOT / "README.md",
    ROOT / "CONTRIBUTING.md",
    ROOT / "CHANGELOG.md",
    *sorted((ROOT / "docs").glob("*.md")),
]
OURS = (*FOLDERS, "tests", "docs")
WHOLE_PATHS = ("architecture.md", "glossary.md")  # every file is named from the root of the checkout


def named(page):
    """Return the files and folders of the checkout that a page names in backticks."""
    words = re.findall(r"`([\w./-]+)`", page.read_text(encoding="utf-8"))
    return [w for w in words if "/" in w and w.split("/")[0] in OURS and (w.endswith("/") or "." in w)]


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_files_named_in_a_page_exist(page):
    gone = sorted({name for name in named(page) if not (ROOT / name).exists()})
    assert not gone, f"{page.name} names {gone}: write where they are now"


@pytest.mark.parametrize("name", WHOLE_PATHS)
def test_maps_name_files_by_their_whole_path(name):
    page = ROOT / "docs" / name
    bare = [
        w for w in re.findall(r"`([\w./-]+\.py)`", page.read_text(encoding="utf-8")) if w not in named(page)
    ]
    assert not bare, f"docs/{name}: {bare}: write folder/file.py"


def test_the_glossary_is_a_table_of_words_and_files():
    rows = [
        line
        for line in (ROOT / "docs" / "glossary.md").read_text(encoding="utf-8").splitlines()
        if line[:1] == "|"
    ]
    cells = [[cell.strip() for cell in row.strip("|").split("|")] for row in rows]
    assert 40 <= len(rows)
    assert all(len(row) == 4 for row in cells), [row for row in cells if len(row) != 4]


def test_the_guide_for_contributors_is_short():
    assert len((ROOT / "CONTRIBUTING.md").read_text(encoding="utf-8").splitlines()) <= 60
