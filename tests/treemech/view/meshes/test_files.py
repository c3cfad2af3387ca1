"""Meshes of the user's: given by numbers or in files."""

import sys

import numpy as np
import pytest

import treemech as tm
from treemech.view.meshes.files import given_mesh

VERTICES = [(0, 0, 0), (1, 0, 0), (0, 1, 0), (0, 0, 1)]
FACES = [(0, 2, 1), (0, 1, 3), (1, 2, 3), (0, 3, 2)]


def test_a_tetrahedron_by_numbers_has_sharp_edges():
    mesh = given_mesh({"kind": "mesh", "vertices": VERTICES, "faces": FACES, "scale": 2.0})
    assert abs(mesh.volume - 8 / 6) < 1e-12 and len(mesh.vertices) == 12


def test_a_sphere_of_facets_is_smooth():
    n = 24
    a, b = np.meshgrid(np.linspace(0, 2 * np.pi, n + 1)[:-1], np.linspace(0.1, np.pi - 0.1, n), indexing="ij")
    x = np.stack((np.sin(b) * np.cos(a), np.sin(b) * np.sin(a), np.cos(b)), axis=-1).reshape(-1, 3)
    k = lambda i, j: (i % n) * n + j  # noqa: E731
    faces = [
        f
        for i in range(n)
        for j in range(n - 1)
        for f in ((k(i, j), k(i, j + 1), k(i + 1, j)), (k(i + 1, j), k(i, j + 1), k(i + 1, j + 1)))
    ]
    mesh = given_mesh({"kind": "mesh", "vertices": x, "faces": faces})
    assert len(mesh.vertices) == len(x)
    assert (np.sum(mesh.normals * mesh.vertices, axis=1) > 0.97).all()


@pytest.mark.parametrize(
    "shape, told",
    [
        ({}, "path, or vertices"),
        ({"vertices": [(0, 0)], "faces": FACES}, r"\(1, 2\)"),
        ({"vertices": VERTICES, "faces": [(0, 1, 9)]}, "there are 4"),
    ],
)
def test_wrong_meshes_are_refused(shape, told):
    with pytest.raises(tm.ElementError, match=told):
        given_mesh({"kind": "mesh", **shape})


def test_a_mesh_file_that_is_not_there(tmp_path):
    with pytest.raises(FileNotFoundError, match=r"no mesh file .*a\.stl"):
        given_mesh({"kind": "mesh", "path": tmp_path / "a.stl"})


def test_without_trimesh_the_error_says_what_to_install(tmp_path, monkeypatch):
    (tmp_path / "a.stl").write_text("solid a\nendsolid a\n")
    monkeypatch.setitem(sys.modules, "trimesh", None)
    with pytest.raises(tm.TreemechError, match="pip install trimesh"):
        given_mesh({"kind": "mesh", "path": tmp_path / "a.stl"})


@pytest.mark.parametrize("suffix", ["stl", "obj", "glb"])
def test_mesh_files_are_read(tmp_path, suffix):
    trimesh = pytest.importorskip("trimesh")
    path = tmp_path / f"a.{suffix}"
    trimesh.Trimesh(VERTICES, FACES).export(path)
    assert abs(given_mesh({"kind": "mesh", "path": str(path)}).volume - 1 / 6) < 1e-6


def test_a_file_that_is_no_mesh(tmp_path):
    pytest.importorskip("trimesh")
    (tmp_path / "a.stl").write_text("no mesh at all")
    with pytest.raises(tm.TreemechError, match=r"a\.stl"):
        given_mesh({"kind": "mesh", "path": tmp_path / "a.stl"})
