"""Pages that lead through the code name files and folders that exist."""

import re

import pytest

from tests.support.places import ROOT
from tests.support.source_files import FOLDERS, sources
from treemech.benchmarks.__main__ import RUNS

PAGES = [
    ROOT / "README.md",
    ROOT / "CONTRIBUTING.md",
    ROOT / "CHANGELOG.md",
    *sorted((ROOT / "docs").glob("*.md")),
]
OURS = (*FOLDERS, "tests", "docs")
WHOLE_PATHS = ("architecture.md", "glossary.md")  # every file is named from the root of the checkout
EXAMPLES = {"ligament.py", "test_ligament.py", "linkage.py"}  # files the reader makes


def text_of(page):
    return page.read_text(encoding="utf-8")


def named(page):
    """Return the files and folders of the checkout that a page names, in text, commands and tables."""
    words = re.findall(rf"(?<![\w./:-])(?:{'|'.join(OURS)})/[\w./-]*", text_of(page))
    words = [word.rstrip(".") for word in words]
    return [word for word in words if word.endswith("/") or "." in word]


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_files_named_in_a_page_exist(page):
    gone = sorted({name for name in named(page) if not (ROOT / name).exists()})
    assert not gone, f"{page.name} names {gone}: write where they are now"


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_files_named_without_a_folder_exist(page):
    """A bare name.py is short for a file named before; it must be the name of one."""
    bare = set(re.findall(r"(?<![\w./-])\w+\.py\b", text_of(page))) - EXAMPLES
    known = {path.name for path in sources(*FOLDERS, "tests")} | {"setup.py"}
    assert bare <= known, f"{page.name} names {sorted(bare - known)}: write folder/file.py"


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_links_of_a_page_lead_somewhere(page):
    links = re.findall(r"\]\(([^)#\s]+)", text_of(page))
    made = "gallery/"  # pages that docs/site writes when the site is built
    here = [link for link in links if "://" not in link and not link.startswith(made)]
    lost = [link for link in here if not (page.parent / link).exists()]
    assert not lost, f"{page.name} links to {lost}"


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_benchmarks_named_in_a_page_exist(page):
    names = set(re.findall(r"python -m treemech\.benchmarks ([a-z][\w-]*)", text_of(page)))
    assert names <= set(RUNS), f"{page.name}: {sorted(names - set(RUNS))}"


@pytest.mark.parametrize("name", WHOLE_PATHS)
def test_maps_name_files_by_their_whole_path(name):
    page = ROOT / "docs" / name
    bare = [word for word in re.findall(r"`([\w./-]+\.py)`", text_of(page)) if word not in named(page)]
    assert not bare, f"docs/{name}: {bare}: write folder/file.py"


def test_the_glossary_is_a_table_of_words_and_files():
    rows = [line for line in text_of(ROOT / "docs" / "glossary.md").splitlines() if line[:1] == "|"]
    cells = [[cell.strip() for cell in row.strip("|").split("|")] for row in rows]
    assert 40 <= len(rows)
    assert all(len(row) == 4 for row in cells), [row for row in cells if len(row) != 4]


def test_the_guide_for_contributors_is_short():
    assert len(text_of(ROOT / "CONTRIBUTING.md").splitlines()) <= 60
