"""Put the LLVM code of many functions together: every definition once, and only what is needed.

Numba lowers each function to the text of a module of its own. `Definitions` keeps what the texts define by
name; `module` writes one module of everything that some functions need, however deep.
"""

import re
from collections.abc import Iterable

_NAME = r'("[^"]*"|[\w.$]+)'
_CALLED = re.compile(rf"@{_NAME}")
_DEFINED = re.compile(rf"@{_NAME}\(")
_GLOBAL = re.compile(rf"@{_NAME} = ")
# Names that mean something in their own text only
_OWN = re.compile(rf"^@{_NAME} = ((?:internal|private) .*)$", re.MULTILINE)
_METADATA = re.compile(r"^(!\d+) = (.*)$", re.MULTILINE)
_COUNTING = ("NRT_incref", "NRT_decref")


def _plain(name: str) -> str:
    return name.strip('"')


class Definitions:
    """What the texts of many modules define, by name."""

    def __init__(self) -> None:
        self._heads: dict[str, None] = {}
        self._types: dict[str, None] = {}
        self._metadata: dict[str, str] = {}
        self._own: dict[tuple[str, str], str] = {}
        self._declared: dict[str, str] = {}
        self._defined: dict[str, tuple[str, frozenset[str]]] = {}  # text, names that it uses

    def __contains__(self, name: str) -> bool:
        return name in self._defined

    def add(self, text: str) -> None:
        """Add all that the text of a module defines. A name that is known keeps its first definition."""
        text = self._rename(text)
        lines, at = text.split("\n"), 0
        while at < len(lines):
            line = lines[at]
            if line.startswith("define "):
                end = lines.index("}", at) + 1
                name = _plain(_found(_DEFINED, line))
                if name not in self._defined:
                    body = "\n".join(lines[at:end])
                    self._defined[name] = body, frozenset(map(_plain, _CALLED.findall(body))) - {name}
                at = end
                continue
            if line.startswith("declare "):
                self._declared.setdefault(_plain(_found(_DEFINED, line)), line)
            elif line.startswith("@"):
                name = _plain(_found(_GLOBAL, line))
                self._defined.setdefault(name, (line, frozenset(map(_plain, _CALLED.findall(line))) - {name}))
            elif line.startswith("%"):
                self._types.setdefault(line)
            elif line.startswith("target "):
                self._heads.setdefault(line)
            at += 1

    def _rename(self, text: str) -> str:
        """Give metadata and names that are private to the text names of their own, by what they say."""
        numbers = dict(_METADATA.findall(text))
        if numbers:
            to = {k: self._metadata.setdefault(v, f"!{len(self._metadata)}") for k, v in numbers.items()}
            if any(k != v for k, v in to.items()):
                text = re.sub(r"(?<= )!\d+\b", lambda m: to[m[0]], text)
        for name, content in _OWN.findall(text):
            new = self._own.setdefault((name, content), f'"{_plain(name)}.own{len(self._own)}"')
            text = text.replace(f"@{name}", f"@{new}")
        return text

    def module(self, names: Iterable[str], more: str = "") -> str:
        """Return the text of one module: the named functions, all they need, and `more` code that calls them.

        Functions that count references become empty: code that allocates nothing has nothing to count.
        """
        needed: dict[str, None] = {}
        todo = list(names)
        while todo:
            name = todo.pop()
            if name not in needed:
                needed[name] = None
                todo += (
                    sorted(self._defined[name][1]) if name in self._defined and name not in _COUNTING else ()
                )
        counting = [name for name in _COUNTING if name in needed]
        inside = [name for name in needed if name in self._defined and name not in counting]
        outside = [name for name in needed if name in self._declared and name not in self._defined]
        globals_ = [name for name in inside if self._defined[name][0].startswith("@")]
        return "\n".join(
            [
                *self._heads,
                *self._types,
                *(self._defined[name][0] for name in globals_),
                *(self._declared[name] for name in outside if name not in counting),
                *(self._defined[name][0] for name in inside if name not in set(globals_)),
                *(
                    f"define internal void @{name}(ptr %counted) alwaysinline {{\n  ret void\n}}"
                    for name in counting
                ),
                more,
                *(f"{number} = {content}" for content, number in self._metadata.items()),
                "",
            ]
        )


def _found(pattern: re.Pattern[str], line: str) -> str:
    match = pattern.search(line)
    if match is None:
        raise ValueError(f"no name in LLVM code: {line[:200]}")
    return match[1]
