"""Runs as tables: the same numbers as by name."""

import csv

import numpy as np
import pytest

import treemech as tm
from tests.support.driven import elements, loops


@pytest.mark.parametrize("make", [loops, elements])
def test_csv_has_every_number_of_the_run(make, tmp_path):
    mech, start = make()
    run = mech.simulate((start.t, start.t + 0.2), start)
    with open(run.to_csv(tmp_path / "run")) as file:
        head, *rows = list(csv.reader(file))
    table = np.array(rows, dtype=float)
    assert (tmp_path / "run.csv").exists() and len(set(head)) == len(head)
    assert np.array_equal(table[:, 0], run.t) and np.array_equal(
        table[:, head.index("energy.total")], run.energy.total
    )
    for connection in run.info.connections:
        q = np.atleast_2d(np.asarray(run.connection(connection.name).q).T)
        own = [
            k
            for k, n in enumerate(head)
            if n == f"{connection.name}.q" or n.startswith(f"{connection.name}.q[")
        ]
        assert np.array_equal(table[:, own].T.reshape(-1), q.reshape(-1))
        force = run.connection(connection.name).force[:, 2]
        assert np.array_equal(table[:, head.index(f"{connection.name}.force.z")], force)


def test_pandas_has_the_same_columns(tmp_path):
    pandas = pytest.importorskip("pandas")
    mech, start = loops()
    run = mech.simulate((start.t, start.t + 0.1), start)
    frame = run.to_pandas()
    read = pandas.read_csv(run.to_csv(tmp_path / "run.csv"), index_col="t")
    assert list(frame.columns) == list(read.columns) and np.allclose(
        frame.to_numpy(), read.to_numpy(), rtol=1e-13, atol=0
    )
    assert frame.index.name == "t"


def test_another_kind_of_file_is_refused(tmp_path):
    mech, start = loops()
    run = mech.simulate((start.t, start.t + 0.1), start)
    with pytest.raises(tm.TreemechError, match="csv"):
        run.to_csv(tmp_path / "run.xlsx")
    assert not list(tmp_path.iterdir())
