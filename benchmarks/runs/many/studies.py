"""Studies of a double pendulum: runs to an error, what they cost as they grow, and over the workers of a cluster."""

import resource
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

import treemech as tm

from ...peers.loops import TooSlow
from ...peers.models import MujocoModel
from ...timing import say
from ..peers import SECONDS, four_bar, ladder_of, mujoco, pinocchio

ERROR = 1e-6  # of a run


def least(work: Callable[[], Any], blocks: int) -> float:
    """Return the least CPU time of this process, all threads, for one call."""
    work()
    best = np.inf
    for _ in range(blocks):
        started = time.process_time()
        work()
        best = min(best, time.process_time() - started)
    return float(best)


def double_pendulum() -> tm.System:
    """Return a double pendulum whose lengths and mass are parameters."""
    l1: Any
    l2: Any
    m2: Any
    l1, l2, m2 = tm.Parameter("l1", 1.0), tm.Parameter("l2", 0.8), tm.Parameter("m2", 1.0)
    system = tm.System("double pendulum", gravity=(0, 0, -9.81))
    a = system.body("a", mass=1.0, inertia=(0.01, 0.01, 0.01), com=(0, 0, -l1))
    b = system.body("b", mass=m2, inertia=(0.01, 0.01, 0.01), com=(0, 0, -l2))
    system.connect("A", tm.Revolute("y"), system.ground, a)
    system.connect("B", tm.Revolute("y"), a.at((0, 0, -l1)), b)
    return system


def pendulum_designs(n: int) -> dict[str, Any]:
    """Return random parameters of the double pendulum."""
    rng = np.random.default_rng(0)
    return {"l1": rng.uniform(0.8, 1.2, n), "l2": rng.uniform(0.6, 1.0, n), "m2": rng.uniform(0.5, 1.5, n)}


def runs_to_an_error(count: int, blocks: int) -> list[dict[str, Any]]:
    """Measure runs of 1 s within 1e-6: ours from random states, and MuJoCo's with the longest step that does it."""
    mech = double_pendulum().build()
    rng = np.random.default_rng(1)
    q, u = rng.normal(size=(count, 2)), rng.normal(size=(count, 2))
    state = mech.state(q=q, u=u)
    exact = mech.simulate_many((0, 1), state, rtol=1e-12)["q"]
    found = []
    for rtol in 10.0 ** -np.arange(5.0, 10.0, 0.5):
        runs = mech.simulate_many((0, 1), state, rtol=float(rtol), workers=1)
        if float(np.abs(runs["q"] - exact).max()) < ERROR:
            break
    one = least(lambda: mech.simulate_many((0, 1), state, rtol=float(rtol), workers=1, block=count), blocks)
    alone = least(
        lambda: [
            mech.simulate((0, 1), mech.state(q=a, u=b), rtol=float(rtol)) for a, b in zip(q, u, strict=True)
        ],
        1,
    )
    row = {"model": "double pendulum, 1 s", "setting": f"rtol {rtol:.1g}", "treemech": 1e6 * one / count,
           "mech.simulate": 1e6 * alone / count}  # fmt: skip
    from mujoco import rollout

    peer = MujocoModel(mech)
    lib, model = peer.mujoco, peer.model
    model.opt.integrator = lib.mjtIntegrator.mjINT_RK4
    full, data = lib.mjtState.mjSTATE_FULLPHYSICS, lib.MjData(peer.model)
    start = np.zeros((count, lib.mj_stateSize(model, full)))
    for x, a, b in zip(start, q, u, strict=True):
        data.qpos[:], data.qvel[:] = peer.coordinates(a), peer.speed_map(a, b)[0] @ b
        lib.mj_getState(model, data, x, full)
    there = np.array([peer.coordinates(x) for x in exact])
    rolling = rollout.Rollout(nthread=0)
    for steps in (50, 71, 100, 141, 200, 283, 400, 566, 800, 1131, 1600):
        model.opt.timestep = 1.0 / steps
        last = rolling.rollout(model, data, start, nstep=steps)[0][:, -1, 1:3]
        if float(np.abs(last - there).max()) < ERROR:
            break
    row["mujoco.rollout"] = (
        1e6 * least(lambda: rolling.rollout(model, data, start, nstep=steps), blocks) / count
    )
    row["its steps"] = steps
    found.append(row)
    return found


class _Start(NamedTuple):
    """A problem for the tools of `peers`."""

    system: tm.System
    mech: tm.Mechanism
    state: tm.State
    end: float


def four_bars_to_an_error(count: int, blocks: int, compared: int) -> list[dict[str, Any]]:
    """Measure runs of 1 s of a four-bar from random starts: ours together, those of others one by one, a few of them.

    MuJoCo integrates in its own loop, as in a rollout; Pinocchio has no integrator, scipy's DOP853 calls it.
    """
    system = four_bar()
    mech, rng = system.build(), np.random.default_rng(1)
    states = [
        mech.assemble(fix={"A": a}, guess={"B": 0.2, "D": 1.9}, rates={"A": w})
        for a, w in zip(rng.uniform(0.3, 0.9, count), rng.normal(size=count), strict=True)
    ]
    exact = mech.simulate_many((0, 1), states, rtol=1e-12)["q"]
    for rtol in 10.0 ** -np.arange(4.0, 10.0, 0.5):
        runs = mech.simulate_many((0, 1), states, rtol=float(rtol), workers=1)
        if float(np.abs(runs["q"] - exact).max()) < ERROR:
            break
    one = least(lambda: mech.simulate_many((0, 1), states, rtol=float(rtol), workers=1, block=count), blocks)
    alone = least(lambda: [mech.simulate((0, 1), s, rtol=float(rtol)) for s in states], 1)
    row: dict[str, Any] = {
        "model": "four-bar, 1 s", "setting": f"rtol {rtol:.1g}", "treemech": 1e6 * one / count, "mech.simulate": 1e6 * alone / count,
    }  # fmt: skip
    for name, make, kind in (
        ("MuJoCo, RK4", mujoco, "step"),
        ("Pinocchio, scipy's DOP853", pinocchio, "rtol"),
    ):
        try:
            solves: list[Any] = [make(_Start(system, mech, s, 1.0), SECONDS) for s in states[:compared]]  # type: ignore[arg-type]
        except ImportError:
            continue
        row[name], row[f"{name}: {kind}"] = None, "not within the error"
        for setting in ladder_of(kind, 1.0):
            try:
                gaps = [
                    np.abs(
                        solve.answer(solve(setting)) - mech.attitude((1.0, q, np.zeros(mech.nu))).position
                    ).max()
                    for solve, q in zip(solves, exact, strict=False)
                ]
            except (ArithmeticError, TooSlow):
                continue
            if max(gaps) < ERROR:
                spent = least(lambda: [solve(setting) for solve in solves], min(blocks, 3))  # noqa: B023
                row[name], row[f"{name}: {kind}"] = 1e6 * spent / len(solves), f"{setting:.2g}"
                break
    return [row]


def growth(counts: list[int]) -> list[dict[str, Any]]:
    """Measure runs with parameters on the disk: cost of one, and the memory of this process."""
    mech, found = double_pendulum().build(), []
    for n in counts:
        with tempfile.TemporaryDirectory() as folder:
            started, wall = time.process_time(), time.perf_counter()
            runs = mech.simulate_many(
                (0, 1),
                mech.state(q={"A": 1.0, "B": 0.5}),
                pendulum_designs(n),
                path=f"{folder}/study",
                workers=1,
            )
            size = sum(p.stat().st_size for p in Path(folder, "study").iterdir())
            found.append({
                "runs": n, "CPU us a run": 1e6 * (time.process_time() - started) / n, "wall s": time.perf_counter() - wall,
                "bytes a run": size / n, "peak MB": resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024,
                "failed": int((~runs.success).sum()),
            })  # fmt: skip
            say(f"growth: {n} runs")
    return found


def cluster(n: int) -> list[dict[str, Any]]:
    """Measure a Dask LocalCluster with one and two workers; nothing where Dask is not installed."""
    try:
        from dask.distributed import Client, LocalCluster
    except ImportError:
        return []
    mech, found = double_pendulum().build(), []
    start, designs = mech.state(q={"A": 1.0, "B": 0.5}), pendulum_designs(n)
    for workers in (1, 2):
        with (
            LocalCluster(n_workers=workers, threads_per_worker=1, dashboard_address=None) as made,
            Client(made) as client,
        ):
            executor = client.get_executor(retries=3)
            few = {name: x[: 2 * workers] for name, x in designs.items()}
            mech.simulate_many((0, 1), start, few, executor=executor, block=1)  # workers warm up
            started = time.perf_counter()
            mech.simulate_many((0, 1), start, designs, executor=executor, block=max(1, n // 40))
            found.append({"workers": workers, "runs": n, "wall s": time.perf_counter() - started})
    return found
