"""List the source files of the checkout and the modules they import."""

import ast
from functools import cache
from pathlib import Path

from tests.support.places import ROOT

FOLDERS = ("topology", "elements", "kinematics", "dynamics", "treemech", "benchmarks")  # imports point left


def sources(*tops):
    """List every Python file of the folders once: a file behind a link belongs to the linked folder."""
    files = [path for top in tops for path in sorted((ROOT / top).rglob("*.py"))]
    return [path for path in files if not any(folder.is_symlink() for folder in path.parents)]


def relative(path):
    """Return the path from the root of the checkout, with slashes."""
    return path.relative_to(ROOT).as_posix()


@cache
def parsed(path):
    """Return the syntax tree of a file."""
    return ast.parse(path.read_text(encoding="utf-8"))


def module_of(path):
    """Return the dotted name under which a source file is imported.

    >>> module_of(ROOT / "topology" / "tree.py")
    'treemech.topology.tree'
    """
    parts = list(path.relative_to(ROOT).with_suffix("").parts)
    parts = parts if parts[0] in ("treemech", "tests") else ["treemech", *parts]
    return ".".join(parts[:-1] if parts[-1] == "__init__" else parts)


@cache
def modules():
    """Map the dotted names of all modules to their files."""
    return {module_of(path): path for path in sources(*FOLDERS)}


def imported(path):
    """Yield (line, dotted name, kind) of every import, relative ones resolved.

    A name that is itself a module counts as that module. The kind is "module" for an import that runs when the
    file is loaded, "function" for one inside a function, "types" for one under TYPE_CHECKING.
    """
    yield from _imports(path, parsed(path).body, "module")


def _imports(path, nodes, kind):
    for node in nodes:
        if isinstance(node, ast.Import):
            yield from ((node.lineno, alias.name, kind) for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            source = _absolute(path, node)
            for alias in node.names:
                full = f"{source}.{alias.name}"
                yield (
                    node.lineno,
                    full if source in ("treemech", "numba") or full in modules() else source,
                    kind,
                )
        elif isinstance(node, ast.If) and "TYPE_CHECKING" in ast.unparse(node.test):
            yield from _imports(path, node.body, "types")
            yield from _imports(path, node.orelse, kind)
        else:
            deeper = isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef, ast.Lambda))
            yield from _imports(path, ast.iter_child_nodes(node), "function" if deeper else kind)


def _absolute(path, node):
    if not node.level:
        return node.module
    parts = module_of(path).split(".")
    inside = parts if path.name == "__init__.py" else parts[:-1]
    return ".".join([*inside[: len(inside) - node.level + 1], *([node.module] if node.module else [])])


def package_of(path: Path):
    """Return the folder of a file, from the root of the checkout."""
    return path.parent.relative_to(ROOT).as_posix()
