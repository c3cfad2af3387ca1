"""Side files of a robot: JSON, or YAML by PyYAML where it is installed, else the few forms of YAML that such files have."""

import json
import re
from pathlib import Path
from typing import Any

from treemech.topology import TreemechError


def read_side_file(path: Path) -> dict[str, Any]:
    """Return the content of a side file, a mapping."""
    if not path.is_file():
        raise FileNotFoundError(f"there is no side file {path.name!r}.")
    text = path.read_text(encoding="utf-8")
    try:
        content = json.loads(text)
    except ValueError:
        content = _yaml(text, path.name)
    if not isinstance(content, dict):
        raise TreemechError(
            f"{path.name} holds {type(content).__name__}; wanted names with values, such as closed_loop."
        )
    return content


def _yaml(text: str, file: str) -> Any:
    try:
        import yaml
    except ImportError:
        return _plain_yaml(text, file)
    try:
        return yaml.safe_load(text)
    except yaml.YAMLError as error:
        raise TreemechError(f"{file} is no YAML: {error}") from None


def _plain_yaml(text: str, file: str) -> dict[str, Any]:
    """Read lines "name: value", the value a word or lists of words, in brackets or one a line after dashes.

    What is written in other ways stays text: it is of no use here.

    >>> _plain_yaml("closed_loop:\\n  - [a, b]\\n  - [c, d]\\nmotors: {a: 1}", "x")
    {'closed_loop': [['a', 'b'], ['c', 'd']], 'motors': '{a: 1}'}
    >>> _plain_yaml("closed_loop: [[a, b],\\n  [c, d]]\\ntype: ['6d', 3d]  # of each", "x")
    {'closed_loop': [['a', 'b'], ['c', 'd']], 'type': ['6d', '3d']}
    """
    found: dict[str, Any] = {}
    plain = re.sub(r"(^|\s)#.*", "", text, flags=re.MULTILINE)
    entries = re.split(r"^(?=[A-Za-z_]\w*\s*:)", plain, flags=re.MULTILINE)
    for entry in entries:
        if not entry.strip() or entry.strip() == "---":
            continue
        match = re.fullmatch(r"([A-Za-z_]\w*)\s*:(.*)", entry.strip(), re.DOTALL)
        if match is None:
            raise TreemechError(
                f"{file}: {entry.strip().splitlines()[0]!r} is not understood; install PyYAML to read it."
            )
        found[match[1]] = _value(match[2].strip(), file)
    return found


def _value(text: str, file: str) -> Any:
    """Read a word, or lists in brackets."""
    if text.startswith("- "):
        return [_value(part.strip(), file) for part in re.split(r"^\s*- ", text, flags=re.MULTILINE)[1:]]
    if not text.startswith("["):
        return text.strip("'\"")
    quoted = re.sub(
        r"'([^']*)'|\"([^\"]*)\"|([^\s\[\],]+)",
        lambda m: json.dumps(next(g for g in m.groups() if g is not None)),
        text,
    )
    try:
        return json.loads(quoted)
    except ValueError:
        raise TreemechError(f"{file}: the list {text[:60]!r} is not understood.") from None
