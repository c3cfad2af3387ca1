"""Many at once: states, steps and runs a second beside MuJoCo's rollout and Batch and Pinocchio's parallel calls.

Microseconds a state, a step of RK4, or a run: CPU time of this process, the least of some blocks, all in one run, so that ratios
hold on a busy machine. Forward dynamics takes arrays with a leading axis, steps a `mech.batch`; MuJoCo has the same step of
RK4 (its constraints are off), and ends where we do. The two columns of threads are times on the wall, medians.
Error-controlled runs: the setting of each that ends within 1e-6 of a run at rtol 1e-12.
"""

import argparse
import json
import os
import statistics
import time
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np

import treemech as tm

from ...families.own import own_chain
from ...families.trees import FAMILIES, random_states
from ...peers.models import MujocoModel, PinModel
from ...problems.mechanisms.a02_double_four_bar import four_bars
from ...problems.mechanisms.a02_double_four_bar import state as four_bar_state
from ...timing import machine, say, table
from .studies import cluster, four_bars_to_an_error, growth, least, runs_to_an_error

TREES = ("chain 7", "chain 30", "humanoid", "tree 127")
WINDOWS = (2, 10, 40)
OWN = "own chain 10"  # elements of a user: no peer has them
DT = 1e-4
LONG = 2e4  # us of a call of forward dynamics that two threads share
AGREE = 1e-8


def on_the_wall(work: Callable[[], Any], blocks: int) -> float:
    """Return the median of times on the wall."""
    found = []
    for _ in range(blocks):
        started = time.perf_counter()
        work()
        found.append(time.perf_counter() - started)
    return statistics.median(found)


def states_and_steps(name: str, rows: int, blocks: int) -> list[dict[str, Any]]:
    """Measure forward dynamics and RK4 steps of a model."""
    mech = built(name)
    if name in FAMILIES or name == OWN:
        q, u, _ = random_states(mech, rows)
    else:
        one = four_bar_state(mech)
        q, u = np.tile(one.q, (rows, 1)), np.tile(one.u, (rows, 1))
    state = mech.state(q=q, u=u)
    batch = mech.batch(rows, state)
    works: dict[tuple[str, str], Callable[[], Any]] = {
        ("forward dynamics", "treemech"): lambda: mech.forward_dynamics(state),
        ("RK4 step", "treemech"): lambda: batch.step(DT),
    }
    works |= row_by_row(name, state, rows)
    if name in FAMILIES:
        works |= pinocchio(mech, q, u) | mujoco(mech, q, u)
    times = {key: 1e6 * least(work, blocks) / rows for key, work in works.items()}
    # Threads get work enough for their wake-up not to count
    copies = max(1, round(LONG / (times["forward dynamics", "treemech"] * rows))) if blocks > 1 else 1
    large = mech.state(q=np.tile(q, (copies, 1)), u=np.tile(u, (copies, 1)))
    both = {k: mech.batch(rows * copies, large, threads=k) for k in (1, 2)}
    wall: dict[tuple[str, int], Callable[[], Any]] = {
        ("forward dynamics", k): partial(mech.forward_dynamics, large, threads=k) for k in (1, 2)
    } | {("RK4 step", k): partial(both[k].step, DT) for k in (1, 2)}
    found = []
    for what in ("forward dynamics", "RK4 step"):
        row: dict[str, Any] = {"model": name, "what": what}
        row |= {who: t for (w, who), t in times.items() if w == what}
        peers = [t for who, t in row.items() if who not in ("model", "what", "treemech", "row by row")]
        row["times the best"] = min(peers) / row["treemech"] if peers else None
        single, double = (on_the_wall(wall[what, k], max(3, blocks)) for k in (1, 2))
        row["two threads"] = single / double
        found.append(row)
    return found


def built(name: str) -> tm.Mechanism:
    """Return a model of a name."""
    n = int(name.split()[-1]) if name not in FAMILIES else 0
    return (FAMILIES[name]() if not n else own_chain(n) if name == OWN else four_bars(n)).build()


def row_by_row(name: str, state: tm.State, rows: int) -> dict[tuple[str, str], Callable[[], Any]]:
    """Return the same work by the scalar path, without SIMD lanes."""
    mech = built(name)
    mech._core.lanes = False
    batch = mech.batch(rows, mech.state(q=state.q, u=state.u), threads=1)
    batch._own_steps().core.lanes = False
    own = mech.state(q=state.q, u=state.u)
    return {
        ("forward dynamics", "row by row"): lambda: mech.forward_dynamics(own, threads=1),
        ("RK4 step", "row by row"): lambda: batch.step(DT),
    }


def pinocchio(mech: tm.Mechanism, q: Any, u: Any) -> dict[tuple[str, str], Callable[[], Any]]:
    """Return Pinocchio's parallel forward dynamics by one thread."""
    peer = PinModel(mech)
    Q = np.asfortranarray(np.array([peer.coordinates(x) for x in q]).T)
    U = np.asfortranarray(np.array([peer.speed_map(x, y)[0] @ y for x, y in zip(q, u, strict=True)]).T)
    pool, zero, out = peer.pin.ModelPool(peer.model, 1), np.zeros_like(U), np.zeros_like(U)
    return {
        ("forward dynamics", "pin.abaInParallel"): lambda: peer.pin.abaInParallel(1, pool, Q, U, zero, out)
    }


def mujoco(mech: tm.Mechanism, q: Any, u: Any) -> dict[tuple[str, str], Callable[[], Any]]:
    """Return MuJoCo's forward dynamics and steps of RK4 of a batch, after a look at where a step ends."""
    from mujoco import rollout

    peer, n = MujocoModel(mech), len(q)
    lib, model = peer.mujoco, peer.model
    model.opt.integrator, model.opt.timestep = lib.mjtIntegrator.mjINT_RK4, DT
    full = lib.mjtState.mjSTATE_FULLPHYSICS
    data = lib.MjData(model)
    start = np.zeros((n, lib.mj_stateSize(model, full)))
    for row, x, y in zip(start, q, u, strict=True):
        data.qpos[:], data.qvel[:] = peer.coordinates(x), peer.speed_map(x, y)[0] @ y
        lib.mj_getState(model, data, row, full)
    steps, chunk = 1, rollout.Rollout(nthread=0)
    out, sensors = np.zeros((n, steps, start.shape[1])), np.zeros((n, steps, model.nsensordata))

    def roll() -> Any:
        return chunk.rollout(
            model,
            data,
            start,
            nstep=steps,
            state=out,
            sensordata=sensors,
            skip_checks=True,
            control=np.zeros((n, steps, 0)),
        )

    def plain() -> Any:
        return chunk.rollout(model, data, start, nstep=steps)

    try:
        roll()
    except (TypeError, ValueError, RuntimeError):
        roll = plain
    state = np.asarray(roll()[0] if roll is plain else out)
    if not mech._lagrange.euler_parameters:  # MuJoCo turns balls by steps of its own
        own = mech.batch(n, mech.state(q=q, u=u)).step(DT)
        there = np.array([peer.coordinates(x) for x in own.q])
        gap = float(np.abs(state[:, 0, 1 : 1 + model.nq] - there).max())
        if not gap < AGREE:
            raise AssertionError(f"{mech.name}: a step of MuJoCo ends {gap:.2g} from ours")
    found: dict[tuple[str, str], Callable[[], Any]] = {("RK4 step", "mujoco.rollout"): roll}
    try:
        from mujoco.batch import Batch
    except ImportError:
        return found
    many = Batch(model, n, nthread=1)
    many.bind("qpos")[:], many.bind("qvel")[:] = (
        start[:, 1 : 1 + model.nq],
        start[:, 1 + model.nq : 1 + model.nq + model.nv],
    )
    return found | {
        ("forward dynamics", "mujoco.batch"): many.forward,
        ("RK4 step", "mujoco.batch"): many.step,
    }


def measure(models: list[str], quick: bool, counts: list[int], dask: int) -> dict[str, Any]:
    """Return all figures."""
    rows, blocks = (8, 1) if quick else (512, 15)
    states = []
    for name in models:
        states += states_and_steps(name, rows, blocks)
        say(f"batch: {name}")
    return {
        "machine": machine(), "load": os.getloadavg() if hasattr(os, "getloadavg") else None, "states": states,
        "runs": runs_to_an_error(4 if quick else 200, blocks) + four_bars_to_an_error(4 if quick else 200, blocks, 1 if quick else 3), "growth": growth(counts), "cluster": cluster(dask) if dask else [],
    }  # fmt: skip


def report(result: dict[str, Any]) -> str:
    """Return the figures as Markdown tables."""
    parts = []
    for title, key in (
        ("us a state and a step, CPU", "states"), ("runs within 1e-6, us CPU", "runs"),
        ("growth of a study on the disk, one worker", "growth"), ("Dask LocalCluster", "cluster"),
    ):  # fmt: skip
        rows = result[key]
        if rows:
            heads = list(dict.fromkeys(h for row in rows for h in row))
            parts += [f"## {title}", table(heads, [[row.get(h) for h in heads] for row in rows])]
    return "\n\n".join(parts)


def main(argv: list[str]) -> int:
    """Run the command ``python -m treemech.benchmarks batch``."""
    models = [*TREES, OWN, *(f"A02 N = {n}" for n in WINDOWS)]
    parser = argparse.ArgumentParser(prog="treemech.benchmarks batch", description=__doc__.splitlines()[0])
    parser.add_argument("--out", type=Path, default=Path("out/batch.json"), help="where the JSON file goes")
    parser.add_argument("--models", nargs="+", choices=models, help="only these models")
    parser.add_argument("--runs", nargs="*", type=int, help="sizes of studies; default 1000 10000")
    parser.add_argument("--cluster", type=int, default=0, help="runs on a Dask LocalCluster; default none")
    parser.add_argument("--quick", action="store_true", help="tiny, to see that it runs")
    given = parser.parse_args(argv)
    chosen = given.models or (["chain 7", OWN, "A02 N = 2"] if given.quick else models)
    counts = given.runs if given.runs is not None else [8] if given.quick else [1000, 10000]
    result = measure(chosen, given.quick, counts, given.cluster)
    given.out.parent.mkdir(parents=True, exist_ok=True)
    given.out.write_text(json.dumps(result, indent=1) + "\n")
    print(report(result))
    return 0
