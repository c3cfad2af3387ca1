"""Write the source of the C function around an element's method: views on records, `self`, and the call."""

from collections.abc import Iterable
from typing import Any

from ..constraint import Constraint, rows_layout
from ..coupling import Coupling, coupling_layout
from ..element import Element, parameters
from ..energetic import Energetic
from ..hinge import Hinge, motion_layout
from .methods import DUAL_PART, HELD_PART, form_of, is_dual_part, methods_of, role_of

# Counts that a record may hold, and their names in Sizes
_FIELDS = {"n_ends": "ends", "input_names": "inputs", "n_memory": "memory"}


def _view(pointer: str, at: int | str, shape: Iterable[int | str], part: str) -> str:
    """Write the source of an array at a pointer; in a dual part, of an array of dual numbers."""
    extents = "".join(f"{n}, " for n in shape)
    if not is_dual_part(part):
        return f"carray(shift({pointer}, {at}), ({extents}))"
    return f"as_dual(carray(shift({pointer}, 2 * ({at})), ({extents}2)), 1)"


def entry_source(element: Element, part: str = "") -> str:
    """Return the source of the C function around the author's method."""
    role, names = role_of(element), "/".join(methods_of(element, part))
    jet = names not in ("evaluate", "value") and role != "energetic"
    lines, items, jets = _self_lines(
        element, "self", {DUAL_PART: DUAL_PART, HELD_PART: "plain"}.get(part, ""), jet
    )
    if is_dual_part(part) and isinstance(element, Energetic) and "evaluate" not in methods_of(element, part):
        more, _, _ = _self_lines(element, "plain", "plain", False)
        lines += [*more, "both = Both(self, plain)"]

    def views(places: Iterable[tuple[str, tuple[int, ...], int]], pointer: str = "out_") -> str:
        return ", ".join(_view(pointer, at, shape, part) for _, shape, at in places)

    if isinstance(element, Energetic):
        lines += _energetic_lines(element, part, items, jets)
    elif getattr(element, "sizes_at", ()):
        lines += _assembled_lines(element, part)
    elif isinstance(element, Hinge):
        n, m = element.n_coordinates, element.n_speeds
        lines.append(f"q = {_view('a_', 0, (n,), part)}")
        lines.append(f"u = {_view('b_', 0, (m,), part)}")
        lines.append(f"method(self, q, u, t, Motion({views(motion_layout(m))}))")
    elif isinstance(element, Constraint):
        na = element.n_auxiliary
        pose = (("", (3,), 0), ("", (3, 3), 3), ("", (3,), 12), ("", (3,), 15))
        own = (("", (na,), 0), ("", (na,), na))
        lines.append(f"motion = RelativeMotion({views(pose, 'a_')}, {views(own, 'b_')})")
        lines.append(f"method(self, motion, t, Rows({views(rows_layout(element.n_rows, na))}))")
    elif isinstance(element, Coupling):
        k = element.n_arguments or 0
        q, u = _view("a_", 0, (k,), part), _view("b_", 0, (k,), part)
        lines.append(f"method(self, {q}, {u}, t, CouplingRows({views(coupling_layout(element.n_rows, k))}))")
    elif role == "signal":
        lines.append(f"method(self, t, {_view('out_', 0, (3,), part)})")
    else:
        place, two = (("", (3,), 0), ("", (3, 3), 3)), (("", (3,), 0), ("", (3,), 3))
        lines.append(f"end = EndMotion({views(place, 'a_')}, {views(two, 'b_')})")
        lines.append(f"method(self, end, t, EndLoad({views(two)}))")
    body = "\n".join("    " + line for line in lines)
    head = f"# C entry of {element.kind}.{names}" + (
        f", sizes {form_of(element)}" if any(form_of(element)) else ""
    )
    return f"{head}\ndef entry(a_, b_, t, par_, out_):\n{body}\n    return 1\n"


def _self_lines(
    element: Element, name: str, form: str, jet: bool
) -> tuple[list[str], list[str], dict[int, str]]:
    """Write the source of the author's `self` from the record.

    Returns the lines, the items of `self`, and by position the items whose form as a jet differs. The form is
    "" for plain numbers, DUAL_PART for dual numbers, and "plain" for the plain values of dual numbers.
    """
    one = {"": "par_[{}]", DUAL_PART: "dual_at(par_, {})", "plain": "par_[2 * ({})]"}[form]
    size, view = {
        "": ("par_[{}]", "carray(shift(par_, {at}), {shape})"),
        DUAL_PART: ("par_[2 * ({})]", "as_dual(carray(shift(par_, 2 * ({at})), {shape} + (2,)), 1)"),
        "plain": ("par_[2 * ({})]", "carray(shift(par_, 2 * ({at})), {shape} + (2,))[..., 0]"),
    }[form]
    lines, items, jets, start, arrays = list[str](), list[str](), dict[int, str](), 0, list[int]()
    for p in parameters(element):
        if p.kind == "scalar":
            items.append(one.format(start))
            start += 1
        elif p.kind == "signal":
            three = ", ".join(one.format(start + j) for j in range(3))
            jets[len(items)] = f"jet_signal(WIDTH, {three}, N)"
            items.append(jets[len(items)] if jet else f"SignalValue({three})")
            start += 3
        else:
            arrays.append(int(p.kind[5:]))
    if arrays:
        lines.append(f"at = {start}")
    for k, ndim in enumerate(arrays):
        own = f"{name}_{k}"
        extents = [f"int({size.format(f'at + {j}')})" for j in range(ndim)]
        lines.append(f"shape = ({', '.join(extents)},)")
        lines.append(f"{own} = {view.format(at=f'at + {ndim}', shape='shape')}")
        lines.append(f"at = at + {ndim} + {' * '.join(f'shape[{j}]' for j in range(ndim))}")
        items.append(own)
    return [*lines, f"{name} = Self({', '.join(items)})" if items else f"{name} = 0"], items, jets


def _assembled_lines(element: Any, part: str) -> list[str]:
    """Write the call of an assembled element; its one compiled form reads the sizes from the record."""
    sizes = [f"int(par_[{2 * at if is_dual_part(part) else at}])" for at in element.sizes_at]
    call = f"method(self, {_view('a_', 0, (8,), part)}, {_view('b_', 0, (8,), part)}, t, "
    if isinstance(element, Hinge):
        views = [
            _view(
                "out_", f"{start} + {one - start} * m", ("m", 3) if name.endswith("partials") else shape, part
            )
            for (name, shape, start), (_, _, one) in zip(motion_layout(0), motion_layout(1), strict=True)
        ]
        return [f"m = {sizes[0]}", f"{call}Motion({', '.join(views)}))"]
    views = [_view("out_", f"{k} * n", ("n",), part) for k in range(3)]
    views.append(_view("out_", "3 * n", ("n", "k"), part))
    return [f"n, k = {', '.join(sizes)}", f"{call}CouplingRows({', '.join(views)}))"]


def _energetic_lines(element: Energetic, part: str, items: list[str], jets: dict[int, str]) -> list[str]:
    """Write the call of an energetic element: views on its two records, then the method."""
    n, methods = element.n, methods_of(element, part)
    counts, motion, load = _counted(element, part)

    def views(name: str, pointer: str, places: list[Any]) -> str:
        return f"{name} = {name.title()}({', '.join(_view(pointer, k, s, part) for _, s, k in places)})"

    lines = [*counts, views("motion", "a_", motion)]
    if part == "remember":
        memory = "memory" if "n_memory" in getattr(element, "counted", {}) else n.memory
        return [*lines, f"method(self, motion, t, carray(out_, ({memory},)))"]
    lines.append(views("load", "out_", load))
    if "law" not in methods:
        lines += [f"for k in range({n.deformations}):", "    load.effort[k] = 0.0"]
    if n.reactions and not is_dual_part(part):
        derivatives = f"carray(shift(out_, {n.load_size}), ({6 * n.ends + n.coordinates}, 6))"
        return [*lines, f"method(self, motion, t, load, {derivatives})"]
    if "evaluate" in methods:
        return [*lines, "method(self, motion, t, load)"]
    with_jets = ", ".join(jets.get(k, item) for k, item in enumerate(items))
    lines.append(f"jets = Self({with_jets})" if jets else "jets = self")
    return [*lines, f"method({'both' if is_dual_part(part) else 'self'}, jets, motion, t, load)"]


def _counted(element: Energetic, part: str) -> tuple[list[str], list[Any], list[Any]]:
    """Return the source that reads counts from the record, and the places of motion and load by these counts.

    So one compiled form serves every number of ends, inputs and memory that such an element may have.
    """
    fields = {name: at for name, at in _FIELDS.items() if name in getattr(element, "counted", {})}
    if not fields:
        return [], element.n.motion, element.n.load
    at, places, lines = 0, dict[str, int](), list[str]()
    for p in parameters(element):
        places[p.name] = at
        at += {"scalar": 1, "signal": 3}.get(p.kind, 0)
    for name, own in fields.items():
        index = places[element.counted[name]]  # type: ignore[attr-defined]
        lines.append(f"{own} = int(par_[{2 * index if is_dual_part(part) else index}])")
    none = element.n._replace(**dict.fromkeys(fields.values(), 0))

    def by_counts(record: str) -> list[Any]:
        found = []
        for k, (name, shape, start) in enumerate(getattr(none, record)):
            extents, place = list[int | str](shape), str(start)
            for own in fields.values():
                _, with_one, further = getattr(none._replace(**{own: 1}), record)[k]
                extents = [e if s == o else own for e, s, o in zip(extents, shape, with_one, strict=True)]
                place += f" + {further - start} * {own}" if further > start else ""
            found.append((name, tuple(extents), place))
        return found

    return lines, by_counts("motion"), by_counts("load")
