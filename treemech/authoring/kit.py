"""The author's kit on the command line: skeletons of elements, checks of a file, a list of all elements."""

import importlib.util
import inspect
import keyword
import re
import sys
import warnings
from collections.abc import Iterator
from importlib.metadata import entry_points
from pathlib import Path
from types import ModuleType
from typing import Any, NamedTuple

from treemech.elements import Coupling, Element
from treemech.elements.check.checks import check
from treemech.elements.compilation.entry import make_dual_entry
from treemech.elements.compilation.methods import ROLES
from treemech.elements.element import required
from treemech.topology import ElementError, TreemechError

from .. import elements
from .skeletons import SKELETONS, TEST_HEAD

KINDS = (*ROLES, "inertia")  # of the elements that are listed
GROUP = "treemech.elements"  # entry points of packages that bring elements
CONTRACTS = (
    "Element",
    "Hinge",
    "AxialHinge",
    "Constraint",
    "Coupling",
    "Energetic",
    "Load",
    "Signal",
    "Function",
)


# ---------------------------------------------------------------- new
def write_skeleton(kind: str, name: str, folder: Path) -> list[Path]:
    """Write an element of this kind and its test; the files, which must not exist yet."""
    words = [
        w for part in re.split(r"[^0-9A-Za-z]+", name) for w in re.findall(r"[A-Z]*[^A-Z]+|[A-Z]+", part)
    ]
    module, cls = "_".join(w.lower() for w in words), "".join(w[0].upper() + w[1:] for w in words)
    if not module.isidentifier() or keyword.iskeyword(module):
        raise TreemechError(f"{name!r} is no name for an element: wanted letters and digits, like CamHinge.")
    if module in sys.stdlib_module_names or module == "treemech":
        raise TreemechError(
            f"{name!r}: a file {module}.py would hide Python's own module {module}; take another name."
        )
    source, test, imports = SKELETONS[kind]
    texts = {f"{module}.py": source, f"test_{module}.py": TEST_HEAD.format(imports=imports) + test}
    for file in texts:
        if (folder / file).exists():
            raise TreemechError(f"{folder / file} exists already: nothing was written.")
    folder.mkdir(parents=True, exist_ok=True)
    for file, text in texts.items():
        text = re.sub(r"\bMine\b", cls, text)
        (folder / file).write_text(re.sub(r"\bmine\b", module, text))
    return [folder / file for file in texts]


# ---------------------------------------------------------------- check
class Verdict(NamedTuple):
    """Result of the check of one element of a file; `kept` is None if the element could not be made."""

    name: str
    kept: bool | None
    text: str


def check_file(path: Path) -> list[Verdict]:
    """Import a file and hold its elements to their contracts: classes without required fields, and instances."""
    module = import_file(path)
    return [verdict(name, thing) for name, thing in elements_in(module)]


def import_file(path: Path) -> ModuleType:
    """Import a file as a module; it can import its neighbours."""
    if not path.is_file():
        raise TreemechError(f"there is no file {path}.")
    name = path.stem
    spec = importlib.util.spec_from_file_location(name, path)
    if spec is None or spec.loader is None:
        raise TreemechError(f"{path} is no Python file.")
    module = importlib.util.module_from_spec(spec)
    sys.modules[name] = module
    sys.path.insert(0, str(path.resolve().parent))
    try:
        spec.loader.exec_module(module)
    except Exception as error:
        raise TreemechError(f"{path} cannot be imported: {type(error).__name__}: {error}") from error
    finally:
        sys.path.remove(str(path.resolve().parent))
    return module


def elements_in(module: ModuleType) -> Iterator[tuple[str, Any]]:
    """Return (name, instance or class) of all elements a module defines; instances replace their class."""
    things = {n: x for n, x in vars(module).items() if not n.startswith("_")}
    made = {n: x for n, x in things.items() if isinstance(x, Element)}
    yield from made.items()
    for name, cls in things.items():
        own = isinstance(cls, type) and issubclass(cls, Element) and cls.__module__ == module.__name__
        if own and not any(type(x) is cls for x in made.values()):
            yield name, cls


def verdict(name: str, thing: Any) -> Verdict:
    """Make one if it is a class, and check it."""
    label = name if isinstance(thing, type) else f"{name} ({thing.kind})"
    with warnings.catch_warnings(record=True) as told:
        warnings.simplefilter("always")
        try:
            if isinstance(thing, type):
                needed = required(thing)
                if needed:
                    return Verdict(
                        label,
                        None,
                        f"{name} needs {', '.join(needed)}: give defaults, or make one, x = {name}(...).",
                    )
                thing = thing()
            report = check(thing)
            lines = differentiated(thing)
        except ElementError as error:
            return Verdict(label, False, f"{label} breaks its contract.\n  {error}")
        except Exception as error:
            return Verdict(label, False, f"{label} cannot be made: {type(error).__name__}: {error}")
    text = str(report).replace(report.kind, label, 1)
    return Verdict(label, True, "\n".join([text, *lines, *(f"  {w.message}" for w in told)]))


def differentiated(element: Element) -> list[str]:
    """Return a line on how derivatives of the element are found; nothing for elements without derivatives."""
    if getattr(element, "n_ends", 0) is None:
        return []
    if isinstance(element, Coupling) and element.n_arguments is None:
        return []
    entry = make_dual_entry(element)
    why = "its methods work with floats only (docs/own-element.md, derivatives)"
    if entry is None:
        return [f"  derivatives: by differences; {why}"]
    if not entry.dual:
        return [f"  derivatives: exact, but for those by its own parameters; {why}"]
    return ["  derivatives: exact, from the same source"]


# ---------------------------------------------------------------- elements
def built_in() -> dict[str, list[tuple[str, str]]]:
    """Return (name, description) of all elements of the library, by role."""
    found: dict[str, list[tuple[str, str]]] = {role: [] for role in KINDS}
    for name in dir(elements):
        cls = getattr(elements, name)
        if isinstance(cls, type) and issubclass(cls, Element) and name not in CONTRACTS:
            what = first_line(cls) if cls.__name__ == name else f"Another name of {cls.__name__}."
            found[role_of_class(cls)].append((name, what))
    return found


def role_of_class(cls: type) -> str:
    return next((role for role in KINDS if getattr(cls, "is_" + role, False)), "element")


def first_line(cls: Any) -> str:
    """Return the first line of the description."""
    return next(iter((inspect.getdoc(cls) or "").splitlines()), "").strip()


def installed() -> Iterator[tuple[str, str]]:
    """Return (name, description) of the elements of other packages, from entry points of the group treemech.elements."""
    for point in sorted(entry_points(group=GROUP), key=lambda p: p.name):
        package = point.dist.name if point.dist is not None else point.value
        try:
            thing = point.load()
        except Exception as error:
            yield point.name, f"[{package}] cannot be loaded: {type(error).__name__}: {error}"
            continue
        role = role_of_class(thing if isinstance(thing, type) else type(thing))
        yield point.name, f"[{package}] {role}: {first_line(thing)}"
