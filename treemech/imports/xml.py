"""XML of other programs, read without entities, document types or network; every node knows its line."""

from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import NoReturn
from xml.parsers import expat

import numpy as np

from treemech.topology import TreemechError
from treemech.topology.arrays import Floats

_DEEPEST = 200  # levels of nodes in nodes


@dataclass
class Node:
    """An element of an XML file: its tag, attributes, text and children, and where it stands."""

    tag: str
    attributes: dict[str, str]
    file: str
    line: int
    children: "list[Node]" = field(default_factory=list)
    text: str = ""

    def __getitem__(self, name: str) -> str:
        """Return an attribute that must be there."""
        if name not in self.attributes:
            self.fail(f"<{self.tag}> has no attribute {name!r}.")
        return self.attributes[name]

    def get(self, name: str, default: str = "") -> str:
        return self.attributes.get(name, default)

    def each(self, *tags: str) -> "Iterator[Node]":
        """Return the children with one of these tags."""
        return (child for child in self.children if child.tag in tags)

    def child(self, tag: str) -> "Node | None":
        """Return the only child with a tag, or None; two of them are refused."""
        found = list(self.each(tag))
        if len(found) > 1:
            found[1].fail(f"<{self.tag}> has two <{tag}>; wanted one.")
        return found[0] if found else None

    def needed(self, tag: str) -> "Node":
        """Return the only child with a tag, which must be there."""
        found = self.child(tag)
        if found is None:
            self.fail(f"<{self.tag}> {self.get('name')!r} has no <{tag}>.")
        return found

    def number(self, name: str, default: float | None = None) -> float:
        """Return a number in an attribute."""
        if name not in self.attributes and default is not None:
            return default
        return float(self.numbers(name, 1)[0])

    def numbers(self, name: str, count: int | None = None, default: str = "") -> Floats:
        """Return the numbers in an attribute; `count` says how many are wanted."""
        text = self.attributes.get(name, default) if default else self[name]
        return self.read(text, f"{name}=", count)

    def read(self, text: str, what: str, count: int | None = None) -> Floats:
        """Return the numbers in a text of this node."""
        try:
            found = np.array([float(word) for word in text.split()])
        except ValueError:
            hint = " Expand the file by xacro first." if "${" in text else ""
            self.fail(f"<{self.tag}> {what}{text!r}; wanted numbers.{hint}")
        if (count is not None and len(found) != count) or not np.all(np.isfinite(found)):
            wanted = "finite numbers" if count is None else f"{count} finite number{'s' * (count > 1)}"
            self.fail(f"<{self.tag}> {what}{text!r}; wanted {wanted}.")
        return found

    def fail(self, message: str) -> NoReturn:
        """Raise an error that names file and line."""
        raise TreemechError(f"{self.file}, line {self.line}: {message}")


def parse(path: Path) -> Node:
    """Read a file. Document types and entities are refused: they can be made to grow without end, or to read files."""
    parser = expat.ParserCreate()
    parser.buffer_text = True
    stack: list[Node] = []
    roots: list[Node] = []

    def begin(tag: str, attributes: dict[str, str]) -> None:
        node = Node(tag, attributes, path.name, parser.CurrentLineNumber)
        if len(stack) > _DEEPEST:
            node.fail(f"nodes lie deeper than {_DEEPEST} in each other.")
        (stack[-1].children if stack else roots).append(node)
        stack.append(node)

    def end(tag: str) -> None:
        stack.pop()

    def text(data: str) -> None:
        if stack:
            stack[-1].text += data

    def refuse(*_: object) -> None:
        raise TreemechError(
            f"{path.name}, line {parser.CurrentLineNumber}: document types and entities are not read (<!DOCTYPE ...>): take them out."
        )

    parser.StartElementHandler, parser.EndElementHandler, parser.CharacterDataHandler = begin, end, text
    parser.StartDoctypeDeclHandler = parser.EntityDeclHandler = refuse
    parser.ExternalEntityRefHandler = refuse  # type: ignore[assignment]
    try:
        parser.Parse(path.read_bytes(), True)
    except LookupError as error:
        raise TreemechError(f"{path.name}: {error}.") from None
    except expat.ExpatError as error:
        raise TreemechError(
            f"{path.name}, line {error.lineno}: this is no XML: {expat.ErrorString(error.code)}."
        ) from None
    return roots[0]
