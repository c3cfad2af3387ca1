"""Files in files: <include file="..."/> of MJCF. Only files beside the model or below are read, each once, and not without end."""

from pathlib import Path

from .xml import Node, parse

_MOST_FILES, _MOST_BYTES = 100, 50_000_000


def included(root: Node, path: Path) -> Node:
    """Return the nodes of a model with those of included files in place of every <include>.

    What stands below the root of an included file takes the place of the <include>, as in MuJoCo. File names are relative to the
    model.
    """
    return _Includes(path).expanded(root)


class _Includes:
    def __init__(self, path: Path) -> None:
        self.folder = path.resolve().parent
        self.read = {path.resolve()}
        self.size = 0

    def expanded(self, node: Node) -> Node:
        """Return a node whose children, and those below, are no <include>."""
        children: list[Node] = []
        for child in node.children:
            if child.tag == "include":
                children += self.expanded(self._file(child)).children
            else:
                children.append(self.expanded(child))
        node.children = children
        return node

    def _file(self, node: Node) -> Node:
        """Read the file that an <include> names; refuse what is not a file of the model's folder."""
        name = node["file"]
        if node.children or len(node.attributes) > 1:
            node.fail(f"<include file={name!r}> says more than the file, which is not read.")
        if "://" in name or "\\" in name or Path(name).is_absolute():
            node.fail(
                f"<include> of {name!r}: wanted the name of a file relative to the model; nothing is fetched from elsewhere."
            )
        path = (self.folder / name).resolve()
        if not path.is_relative_to(self.folder):
            node.fail(
                f"<include> of {name!r} leads out of the folder of the model, {self.folder.name!r}: put the file there, or below."
            )
        if not path.is_file():
            node.fail(f"<include> of {name!r}: there is no such file in the folder of the model.")
        if path in self.read:
            node.fail(f"<include> of {name!r}: this file is read already; each is included once.")
        self.read.add(path)
        self.size += path.stat().st_size
        if len(self.read) > _MOST_FILES or self.size > _MOST_BYTES:
            node.fail(
                f"<include> of {name!r}: a model is made of at most {_MOST_FILES} files with {_MOST_BYTES // 10**6} MB together."
            )
        return parse(path)
