"""The code of the pages of the documentation: run block by block, with what each block prints.

A block ```python may be followed by a block ```text with its output. `python -m tests.support.docs.pages docs/tutorial.md`
writes the outputs of a page anew, for blocks that are followed by one.
"""

import contextlib
import io
import math
import re
import sys
from pathlib import Path
from typing import NamedTuple

BLOCK = re.compile(r"^```python\n(.*?)^```\n(?:\n?^```text\n(.*?)^```\n)?", re.S | re.M)
NUMBER = re.compile(r"[-+]?(?:\d+\.\d*|\.\d+|\d+)(?:[eE][-+]?\d+)?")


class Block(NamedTuple):
    """A block of code, the output the page shows (None: none), and where that stands in the text."""

    code: str
    output: str | None
    span: tuple[int, int]


def blocks(text: str) -> list[Block]:
    """Return the blocks of a page.

    >>> [b.output for b in blocks("```python\\nprint(1)\\n```\\n\\n```text\\n1\\n```\\n")]
    ['1\\n']
    """
    return [Block(m[1], m[2], m.span(2)) for m in BLOCK.finditer(text)]


def printed(page: list[Block], folder: Path) -> list[str]:
    """Run the blocks of a page one after the other; return what each prints. The code stands in folder/page.py."""
    source = folder / "page.py"
    source.write_text("".join(b.code for b in page), encoding="utf-8")
    space: dict[str, object] = {"__name__": "page"}
    found, line = [], 0
    for block in page:
        with contextlib.redirect_stdout(io.StringIO()) as told:
            exec(compile("\n" * line + block.code, str(source), "exec"), space)
        line += block.code.count("\n")
        found.append(told.getvalue())
    return found


def agrees(shown: str, told: str) -> bool:
    """Return whether two outputs have the same words, and numbers that agree to the digits that mean something.

    >>> agrees("open by 3e-16 m", "open by 5e-15 m"), agrees("1.234 m", "1.2341 m"), agrees("1.2 m", "1.3 m")
    (True, True, False)
    """
    words = [" ".join(NUMBER.sub("#", text).split()) for text in (shown, told)]
    pairs = zip(NUMBER.findall(shown), NUMBER.findall(told), strict=False)
    return words[0] == words[1] and all(
        math.isclose(float(a), float(b), rel_tol=2e-3, abs_tol=1e-8) for a, b in pairs
    )


def main(paths: list[str]) -> None:
    import os
    import tempfile

    for path in map(Path, paths):
        text, here = path.read_text(encoding="utf-8"), Path.cwd()
        page = blocks(text)
        with tempfile.TemporaryDirectory() as folder:
            os.chdir(folder)
            told = printed(page, Path(folder))
            os.chdir(here)
        for block, output in reversed(list(zip(page, told, strict=True))):
            if block.output is not None:
                text = text[: block.span[0]] + output + text[block.span[1] :]
        path.write_text(text, encoding="utf-8")


if __name__ == "__main__":
    main(sys.argv[1:])
