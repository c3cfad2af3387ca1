"""Located: a value of a JSON text that knows its place in the file, so that error messages can name it."""

import json
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from math import isfinite
from textwrap import fill
from typing import Any, NoReturn

from treemech.topology import TreemechError, unknown

WIDTH = 110


class FileFault(TreemechError):
    """A mistake in a file: its name, the place, and what is wrong there."""


@dataclass(frozen=True)
class Located:
    """A value in a file, and where it is: "connections[2].element.axis"."""

    value: Any
    file: str
    path: str = ""
    parameters: Mapping[str, Any] = field(default_factory=dict)  # of the model, by name

    def fail(self, text: str) -> NoReturn:
        raise FileFault(f"{self.file}: {self.path or 'the file'}: {text}")

    @contextmanager
    def blamed(self) -> Iterator[None]:
        """Attribute errors within the context to this place of the file."""
        try:
            yield
        except FileFault:
            raise
        except (TreemechError, TypeError, ValueError, LookupError, ArithmeticError, AttributeError) as error:
            self.fail(str(error) if isinstance(error, TreemechError) else f"{type(error).__name__}: {error}")

    def __getitem__(self, key: str | int) -> "Located":
        place = f"[{key}]" if isinstance(key, int) else f".{key}" if self.path else key
        return Located(self.value[key], self.file, self.path + place, self.parameters)

    def __contains__(self, key: str) -> bool:
        return key in self.value

    def object(self, needed: tuple[str, ...] = (), known: tuple[str, ...] | None = None) -> "Located":
        """Return this value as an object with all `needed` keys and no others but `known` ones (None: any)."""
        if not isinstance(self.value, dict):
            self.fail(f"is {shown(self.value)}; wanted an object {{...}}.")
        if known is not None:
            for key in (k for k in self.value if k not in (*needed, *known)):
                self[key].fail(unknown("field", key, (*needed, *known)))
        for key in (k for k in needed if k not in self.value):
            self.fail(f"the field {key!r} is missing.")
        return self

    def each(self, key: str | None = None) -> "list[Located]":
        """Return the entries of a list, or of the list in a field; none if there is no such field."""
        if key is not None:
            return self[key].each() if key in self else []
        if not isinstance(self.value, list):
            self.fail(f"is {shown(self.value)}; wanted a list [...].")
        return [self[k] for k in range(len(self.value))]

    def entries(self, key: str | None = None) -> "dict[str, Located]":
        """Return the entries of an object, or of the object in a field, by name; none without such a field."""
        if key is not None:
            return self[key].entries() if key in self else {}
        return {name: self[name] for name in self.object().value}

    def text(self) -> str:
        if not isinstance(self.value, str):
            self.fail(f"is {shown(self.value)}; wanted a text.")
        return self.value

    def whole(self) -> int:
        if isinstance(self.value, bool) or not isinstance(self.value, int):
            self.fail(f"is {shown(self.value)}; wanted a whole number.")
        return self.value

    def get(self, key: str, otherwise: Any = None) -> Any:
        """Return the plain value of a field."""
        return self.value.get(key, otherwise)


def shown(value: Any) -> str:
    text = json.dumps(value)
    return text if len(text) <= 60 else text[:57] + "..."


# ---------------------------------------------------------------- text
def parse(text: str, file: str) -> Located:
    """Parse a JSON text; refuse keys given twice, NaN and infinite numbers."""

    def pairs(items: list[tuple[str, Any]]) -> dict[str, Any]:
        found = dict(items)
        for key in (
            (k for k, _ in items if [n for n, _ in items].count(k) > 1) if len(found) < len(items) else ()
        ):
            raise FileFault(f"{file}: {key!r} is given twice in one object.")
        return found

    def number(digits: str) -> float:
        if not isfinite(float(digits)):
            raise FileFault(f"{file}: {digits} is not a finite number.")
        return float(digits)

    try:
        value = json.loads(text, object_pairs_hook=pairs, parse_float=number, parse_constant=number)
    except json.JSONDecodeError as error:
        raise FileFault(f"{file}: line {error.lineno}, column {error.colno}: {error.msg}.") from None
    except RecursionError:
        raise FileFault(f"{file}: is nested too deeply.") from None
    return Located(value, file)


def layout(value: Any, indent: str = "", taken: int = 0) -> str:
    """Return JSON in a readable form: what fits is on one line, long columns of numbers fill lines.

    >>> print(layout({"name": "arm", "spring": {"kind": "Spring"}, "times": list(range(12))}, taken=80))
    {
      "name": "arm",
      "spring": {"kind": "Spring"},
      "times": [0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11]
    }
    """
    flat = json.dumps(value, ensure_ascii=False)
    if not isinstance(value, (dict, list)) or not value or len(indent) + taken + len(flat) <= WIDTH:
        return flat
    inner = indent + "  "
    if isinstance(value, dict):
        keys = {k: f"{json.dumps(k, ensure_ascii=False)}: " for k in value}
        lines = [keys[k] + layout(v, inner, len(keys[k])) for k, v in value.items()]
        return f"{{\n{inner}" + f",\n{inner}".join(lines) + f"\n{indent}}}"
    if not any(isinstance(v, (dict, list, str)) for v in value):
        return f"[\n{fill(flat[1:-1], WIDTH, initial_indent=inner, subsequent_indent=inner)}\n{indent}]"
    return f"[\n{inner}" + f",\n{inner}".join(layout(v, inner) for v in value) + f"\n{indent}]"
