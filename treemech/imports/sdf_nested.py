"""Models inside an SDF model, made part of it: their links, joints and frames get the names "model::name"."""

from dataclasses import replace

from .xml import Node

_PARTS = ("link", "joint", "frame")
_REFERENCES = ("relative_to", "attached_to", "expressed_in", "joint", "canonical_link", "placement_frame")
_OWN = "__model__"


def flattened(model: Node) -> Node:
    """Return a model without models inside: each becomes a frame, by its name, and its parts."""
    children: list[Node] = []
    for node in model.children:
        if node.tag == "model":
            children += _parts(flattened(node))
        else:
            children.append(node)
    return replace(model, children=children)


def _parts(model: Node) -> list[Node]:
    """Return the frame of an inner model, and its parts under their names outside."""
    name = model["name"]
    if model.get("placement_frame"):
        model.fail(f"placement_frame of the inner model {name!r} is not read.")
    links = [node["name"] for node in model.each("link")]
    if not links:
        model.fail(f"the inner model {name!r} has no link.")
    held = f"{name}::{model.get('canonical_link') or links[0]}"
    found = [Node("frame", {"name": name, "attached_to": held}, model.file, model.line, [_pose(model, _OWN)])]
    for node in model.children:
        if node.tag in _PARTS:
            part = _scoped(node, name)
            part.attributes["name"] = f"{name}::{node['name']}"
            if node.tag == "link" or (node.tag == "frame" and not node.get("attached_to")):
                part.children = [_pose(part, name), *(c for c in part.children if c.tag != "pose")]
            if node.tag == "frame" and not node.get("attached_to"):
                part.attributes["attached_to"] = name
            found.append(part)
        elif node.tag == "static" and node.text.strip() in ("1", "true"):
            node.fail(f"the inner model {name!r} is static: not read; fix its links by joints.")
        elif node.tag not in ("pose", "static"):
            found.append(replace(node, attributes={**node.attributes}))
    return found


def _pose(node: Node, base: str) -> Node:
    """Return the pose of a node, relative to a base where it does not say another."""
    given = node.child("pose")
    if given is None:
        return Node("pose", {"relative_to": base}, node.file, node.line)
    return replace(given, attributes={"relative_to": base} | {k: v for k, v in given.attributes.items() if v})


def _scoped(node: Node, scope: str) -> Node:
    """Return a node whose references are to the names outside of the model."""

    def outside(name: str) -> str:
        return scope if name == _OWN else name if name in ("", "world") else f"{scope}::{name}"

    attributes = {k: outside(v) if k in _REFERENCES else v for k, v in node.attributes.items()}
    text = outside(node.text.strip()) if node.tag in ("parent", "child") else node.text
    children = [_scoped(child, scope) for child in node.children if child.tag not in ("inertial", "visual")]
    children += [child for child in node.children if child.tag in ("inertial", "visual")]
    return Node(node.tag, attributes, node.file, node.line, children, text)
