"""Print what CHANGELOG.md says about a version: the notes of its release. Fails if there is nothing, or if it says unreleased."""

import re
import sys
from pathlib import Path


def notes(version: str, changelog: str) -> str:
    """Return the text below the heading of a version.

    >>> notes("0.2.0", "# Changelog\\n\\n## [0.2.0] - 2027-01-01\\n\\n- New.\\n\\n## [0.1.0] - 2026-12-01\\n\\n- First.\\n")
    '- New.'
    """
    found = re.search(
        rf"^## \[{re.escape(version)}\] - (\S+)\n(.*?)(?=^## |\Z)", changelog, re.MULTILINE | re.DOTALL
    )
    if not found:
        raise SystemExit(f"CHANGELOG.md has no section '## [{version}] - DATE'.")
    if found[1] == "unreleased":
        raise SystemExit(f"CHANGELOG.md calls {version} unreleased: give it its date before the tag.")
    return found[2].strip()


if __name__ == "__main__":
    print(notes(sys.argv[1], (Path(__file__).parent.parent / "CHANGELOG.md").read_text(encoding="utf-8")))
