"""Sphinx extension: the gallery, one page for every example of `tm.examples`, written before the build.

Every example is run once; its page has the description, the animation, pictures of the signals it names, our values beside the known ones,
and the file itself. Pages are kept with a digest of what they were made of, so a second build runs only what changed. The examples are models
to import, not scripts, which is why this is not sphinx-gallery.
"""

from __future__ import annotations

import hashlib
import re
import shutil
import time
from itertools import groupby
from pathlib import Path
from typing import Any

GROUPS = {
    "mechanisms": "Mechanisms",
    "robots": "Robots",
    "vehicles": "Vehicles",
    "biomechanics": "Biomechanics",
    "machines": "Machines, contact and lubrication",
    "classics": "Classics",
}


def setup(app: Any) -> dict[str, bool]:
    """Write the gallery when Sphinx starts."""
    app.add_config_value("gallery_examples", "all", "env")  # names with commas between them, "all" or "none"
    app.connect("builder-inited", write)
    return {"parallel_read_safe": True, "parallel_write_safe": True}


def write(app: Any) -> None:
    """Write the pages of all examples and the list of them into docs/gallery."""
    from sphinx.util import logging

    import treemech as tm

    log, folder = logging.getLogger(__name__), Path(app.srcdir) / "gallery"
    folder.mkdir(exist_ok=True)
    asked = app.config.gallery_examples
    wanted = [e for e in tm.examples.listed() if asked == "all" or e.name in asked.split(",")]
    for entry in wanted:
        begun = time.process_time()
        if _make(entry, folder):
            log.info("gallery: %s %.1f s", entry.name, time.process_time() - begun)
    known = {entry.name for entry in wanted}
    for path in folder.iterdir():
        if path.name != "index.md" and path.stem.partition("-")[0] not in known:
            path.unlink()
    (folder / "index.md").write_text(_index(wanted, folder), encoding="utf-8")


def _make(entry: Any, folder: Path) -> bool:
    """Write the page of one example; return False if the one that is there is up to date."""
    import treemech as tm
    from treemech.elements.native.sources import core_hash

    example = tm.examples.find(entry.name)
    source = Path(example._module.__file__ or "")
    page = folder / f"{entry.name}.md"
    digest = hashlib.sha256(
        (
            core_hash()
            + "".join(file.read_text() for file in (source, Path(tm.examples.__file__), Path(__file__)))
        ).encode()
    ).hexdigest()[:16]
    mark = f"% made of {digest}"
    if page.exists() and page.read_text(encoding="utf-8").startswith(mark):
        return False
    written = example.save(folder)
    run = example.run()  # one state alone: a car that drives far away would be small
    example.mechanism.show(run.state(len(run.t) // 7), folder / f"{entry.name}-small.png", size=(300, 200))
    pictures = [path for path, _ in written if path.suffix == ".png"]
    first, _, rest = example.description.partition("\n\n")
    title, said = _split(" ".join(first.split()))
    text = f"{said[:1].upper()}{said[1:]}\n\n{rest}" if said else rest
    lines = [mark, "", f"# {title.rstrip('.')}", "", text.strip(), ""]
    lines += ["```{raw} html", f'<iframe src="../_static/gallery/{entry.name}.html" width="100%" height="460" loading="lazy"', 'style="border:1px solid #8884"></iframe>', "```", ""]  # fmt: skip
    lines += [f"![{path.stem}]({path.name})" for path in pictures]
    lines += [
        "",
        "## In Python",
        "",
        "```text",
        f"example = tm.examples.{entry.name}()",
        "run = example.run()",
        "```",
        "",
    ]
    if example.known:
        lines += ["## Our values and the known ones", "", "```text", example.table(), "```", ""]
    lines += [
        "## The model",
        "",
        "```{code-block} python",
        "",
        source.read_text(encoding="utf-8").strip(),
        "```",
        "",
    ]
    page.write_text("\n".join(lines), encoding="utf-8")
    static = folder.parent / "site" / "static" / "gallery"
    static.mkdir(parents=True, exist_ok=True)
    for path, _ in written:
        if path.suffix == ".html":
            shutil.move(path, static / path.name)
        elif path.suffix == ".txt":
            path.unlink()
    return True


def _index(entries: list[Any], folder: Path) -> str:
    """Return the page that lists all examples by group."""
    lines = [
        "# Gallery",
        "",
        "Models with known answers, ready to run: `tm.examples.NAME()`, or `treemech example NAME`. Copy their files.",
        "",
    ]
    lines += ["```{toctree}", ":hidden:", ":titlesonly:", "", *(e.name for e in entries), "```", ""]
    top = sorted(entries, key=lambda e: list(GROUPS).index(_group(e)))
    for group, members in groupby(top, key=_group):
        lines += [f"## {GROUPS[group]}", ""]
        lines += [":::{container} cards"]
        lines += [
            f"- [![]({e.name}-small.png)]({e.name}.md) [{_split(e.title)[0]}]({e.name}.md){_rest(e.title)}"
            for e in sorted(members, key=lambda e: e.name)
        ]
        lines += [":::", ""]
    return "\n".join(lines)


def _split(sentence: str) -> tuple[str, str]:
    """Return the name of an example and what its first sentence says behind a colon or a semicolon."""
    name, said = (re.split("[:;] ", sentence, maxsplit=1) + [""])[:2]
    if name.startswith("IFToMM") and len(name) < 12:  # a number alone tells nobody what it is
        more, _, said = said.partition(", ")
        name = f"{name}: {more}"
    return name.rstrip("."), said if said else ""


def _rest(title: str) -> str:
    """Return what a title says behind its name, as text to go on with."""
    rest = _split(title)[1].rstrip(".")
    return f": {rest}" if rest else ""


def _group(entry: Any) -> str:
    return str(entry.group).replace(".", "/").partition("/")[0]
