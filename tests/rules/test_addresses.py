"""Addresses that compiled code gets belong to arrays that somebody keeps."""

import ast

from tests.support.source_files import parsed, relative, sources

_KEEPERS = ("keep",)  # functions that keep what they return


def _fleeting(node):
    """Return the arrays in the arguments of address(...), addresses((...)) that are freed before they are used."""
    called = node.func.id if isinstance(node.func, ast.Name) else ""
    if called not in ("address", "addresses"):
        return
    for argument in node.args:
        for array in argument.elts if isinstance(argument, (ast.Tuple, ast.List)) else [argument]:
            if isinstance(array, (ast.BinOp, ast.ListComp, ast.GeneratorExp)) or (
                isinstance(array, ast.Call)
                and (not isinstance(array.func, ast.Attribute) or array.func.attr not in _KEEPERS)
            ):
                yield ast.unparse(array)


def test_the_address_of_an_array_is_not_taken_where_the_array_is_made():
    """Such an array is freed before compiled code reads it: loads of hinges beside couplings were wrong by that."""
    tops = ("topology", "elements", "kinematics", "dynamics", "treemech")
    found = [
        f"{relative(path)}:{node.lineno}: {text}"
        for path in sources(*tops)
        for node in ast.walk(parsed(path))
        if isinstance(node, ast.Call)
        for text in _fleeting(node)
    ]
    assert not found, f"give them a name first: {found}"


def test_the_rule_sees_fleeting_arrays():
    seen = "address(np.zeros(3))", "addresses((a, np.ascontiguousarray(b[:, :2])))", "address(a + b)"
    fine = "address(a)", "addresses((a, b.c, d[0]))", "address(pack.keep(a))", "addresses(arrays)"
    assert all(list(_fleeting(ast.parse(text).body[0].value)) for text in seen)
    assert not any(list(_fleeting(ast.parse(text).body[0].value)) for text in fine)
