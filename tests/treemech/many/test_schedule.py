"""A real cluster on this machine: runs are those of threads, and a worker that is killed takes nothing with it."""

import os
import signal

import numpy as np
import pytest

from tests.treemech.many.models import last_torque, pendulum

pytestmark = pytest.mark.extras


@pytest.fixture(scope="module")
def client():
    distributed = pytest.importorskip("dask.distributed")
    with (
        distributed.LocalCluster(n_workers=2, threads_per_worker=1, dashboard_address=None) as cluster,
        distributed.Client(cluster) as client,
    ):
        yield client


def test_runs_on_a_cluster_are_those_of_this_machine(client):
    mech, lengths = pendulum(), np.linspace(0.7, 1.3, 40)
    arguments = ((0, 0.5), mech.state(q={"A": 1.0}), {"l1": lengths})
    here = mech.simulate_many(*arguments, measures={"sum": last_torque})
    there = mech.simulate_many(
        *arguments, measures={"sum": last_torque}, executor=client.get_executor(), block=4
    )
    assert np.array_equal(here["sum"], there["sum"]) and there.complete


def test_a_worker_killed_in_the_middle_loses_nothing(client, tmp_path):
    mech, lengths = pendulum(), np.linspace(0.7, 1.3, 600)
    killed = []

    def kill(fraction):
        if not killed:
            killed.append(next(iter(client.run(os.getpid).values())))
            os.kill(killed[0], signal.SIGKILL)

    start = mech.state(q={"A": 1.0})
    runs = mech.simulate_many(
        (0, 5),
        start,
        {"l1": lengths},
        executor=client.get_executor(retries=3),
        block=10,
        progress=kill,
        path=tmp_path / "s",
    )
    assert killed and runs.complete and runs.success.all() and not runs.failures
    alone = mech.simulate_many((0, 5), start, {"l1": lengths[::50]})
    assert np.array_equal(runs["q"][::50], alone["q"])


def test_joblib_gives_an_executor():
    loky = pytest.importorskip("joblib.externals.loky")
    mech, lengths = pendulum(), np.linspace(0.7, 1.3, 8)
    executor = loky.get_reusable_executor(max_workers=2)
    start = mech.state(q={"A": 1.0})
    runs = mech.simulate_many(
        (0, 0.5), start, {"l1": lengths}, executor=executor, measures={"sum": last_torque}
    )
    assert np.array_equal(
        runs["sum"],
        mech.simulate_many((0, 0.5), start, {"l1": lengths}, measures={"sum": last_torque})["sum"],
    )
    executor.shutdown(wait=True)
