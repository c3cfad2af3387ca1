"""What people read is true: the code in README and docs runs, and prints what the page shows."""

import re

import pytest

from tests.support.docs.pages import agrees, blocks, printed
from tests.support.places import ROOT

# Packages of the extra of this name: their pages are run by make test-extras
EXTRAS = ("jax", "torch", "fmpy", "control", "viser")
PEERS = ("pinocchio", "mujoco")  # of the extra test
BY_A_CALL = {"viser": r"\.live\("}  # not imported by the page itself


def needed(page, names):
    code = "".join(block.code for block in page)
    return [n for n in names if re.search(BY_A_CALL.get(n, rf"^\s*(import|from) {n}\b"), code, re.M)]


PAGES = [
    pytest.param(
        page,
        id=str(path.relative_to(ROOT)),
        marks=[pytest.mark.extras] if needed(page, EXTRAS) else [],
    )
    for path in (ROOT / "README.md", *sorted((ROOT / "docs").rglob("*.md")))
    if path.parent.name != "gallery" and (page := blocks(path.read_text(encoding="utf-8")))
]


@pytest.mark.parametrize("page", PAGES)
def test_the_code_of_a_page_runs_and_prints_what_is_shown(page, tmp_path, monkeypatch):
    for name in needed(page, (*EXTRAS, *PEERS)):
        pytest.importorskip(name)
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("COLUMNS", "80")
    for block, told in zip(page, printed(page, tmp_path), strict=True):
        if block.output is not None:
            assert agrees(block.output, told), f"the page shows\n{block.output}\nand prints\n{told}"


def test_no_block_of_code_escapes_the_test():
    """Blocks that are marked in another way would not be run."""
    for path in (ROOT / "README.md", *sorted((ROOT / "docs").rglob("*.md"))):
        if path.parent.name == "gallery":
            continue
        text = path.read_text(encoding="utf-8")
        marks = re.findall(r"^ *```+ ?(py\w*|\{code[^\n]*)", text, re.M)
        assert len(marks) == len(blocks(text)), f"{path.name}: write ```python at the start of the line"


def test_blocks_without_a_language_are_no_code():
    """Code of Python is marked as such, so that it runs."""
    for path in (ROOT / "README.md", *sorted((ROOT / "docs").rglob("*.md"))):
        if path.parent.name == "gallery":
            continue
        text = path.read_text(encoding="utf-8")
        for language, body in re.findall(r"^```+ ?(\w*)\n(.*?)^```+$", text, re.M | re.S):
            found = re.search(r"^(import \w|from \w+ import|\w+(\.\w+)* = |\w+\.\w+\()", body, re.M)
            assert language or not found, f"{path.name}: {found[0]}"


def test_links_in_the_readme_lead_somewhere():
    text = (ROOT / "README.md").read_text()
    for target in re.findall(r"\]\(([^)#]+)\)", text):
        assert target.startswith("http") or (ROOT / target).exists(), target


def test_the_example_of_the_readme_is_short():
    code = re.search(r"```python\n(.*?)```", (ROOT / "README.md").read_text(), re.S)[1]
    assert len([line for line in code.splitlines() if line.strip()]) <= 15
