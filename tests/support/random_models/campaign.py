"""Run all laws on many random mechanisms and count how they end: ``python -m tests.support.random_models.campaign --count 1000``.

A worker process does the work; one that takes more than `--limit` seconds of CPU for a law is ended and
counted as a hang. What is wrong, crashes or hangs is printed with its recipe, made as small as it can be. With
`--log` results are written down lump by lump, and what is there already is not done again.
"""

import argparse
import json
import multiprocessing
import os
import re
import time
import warnings
from collections import Counter
from pathlib import Path

import treemech as tm

from .blueprint import Blueprint, Unfit
from .laws import LAWS
from .outcomes import Stopped, Wrong
from .recipe import numbered_recipe

BAD = ("wrong", "crash", "hang")
LUMP = 200  # mechanisms that are written down at once


def outcome(recipe, laws=LAWS, begun=lambda law: None):
    """Return (kind, law, words) for every law that did not hold, from one blueprint: [] if all is well.

    `begun` is told what begins.
    """
    found = []
    begun("start")
    try:
        blueprint = Blueprint(recipe)
        blueprint.state
    except Unfit as error:
        return [("unfit", "start", str(error))]
    except tm.TreemechError as error:
        return [("refused", "start", str(error))]
    except Exception as error:
        return [("crash", "start", f"{type(error).__name__}: {error}")]
    for name, law in laws.items():
        begun(name)
        try:
            law(blueprint)
        except Wrong as error:
            found.append(("wrong", name, str(error)))
        except Stopped as error:
            found.append(("stopped", name, str(error)))
        except Unfit as error:
            found.append(("unfit", name, str(error)))
        except tm.TreemechError as error:
            found.append(("refused", name, str(error)))
        except Exception as error:
            found.append(("crash", name, f"{type(error).__name__}: {error}"))
    made = ("made", "", " ".join(kind.replace(" ", "_") for kind in sorted(blueprint.kinds)))
    return [*found, *(("noted", *note) for note in blueprint.notes), made]


def reason(words):
    """Return a message without its names and numbers: the same for all of one family."""
    words = re.sub(r"'[^']*'", "'.'", words)
    words = re.sub(r"\b[bh]\d+\b", ".", words)
    return re.sub(r"-?\d[\d.e+-]*", "#", words)[:110]


def smallest(recipe, kind, law):
    """Return the recipe without all parts that are not needed to break the law."""
    changed = True
    while changed:
        changed = False
        for candidate in recipe.smaller():
            if any(
                found[:2] == (kind, law)
                for found in outcome(candidate, {law: LAWS[law]} if law in LAWS else {})
            ):
                recipe, changed = candidate, True
                break
    return recipe


def _work(seed, numbers, laws, pipe):
    warnings.simplefilter("ignore")
    chosen = {name: LAWS[name] for name in laws}
    for number in numbers:
        recipe = numbered_recipe(seed, number)

        def begun(law, number=number):
            pipe.send(("start", number, (law, time.process_time())))

        pipe.send(("end", number, outcome(recipe, chosen, begun)))
    pipe.send(("done", None, None))


def _cpu(pid):
    with open(f"/proc/{pid}/stat") as file:
        parts = file.read().rsplit(")", 1)[1].split()
    return (int(parts[11]) + int(parts[12])) / os.sysconf("SC_CLK_TCK")


def campaign(seed, count, first=0, limit=60.0, laws=tuple(LAWS), report=print):
    """Run the laws on mechanisms first .. first + count of a series. Return {number: findings}."""
    context, results, numbers = multiprocessing.get_context("spawn"), {}, list(range(first, first + count))
    while numbers:
        here, there = context.Pipe(duplex=False)
        worker = context.Process(target=_work, args=(seed, numbers, laws, there), daemon=True)
        worker.start()
        there.close()
        now, law, since = numbers[0], "process", 0.0
        while numbers:
            if here.poll(5.0):
                try:
                    what, number, value = here.recv()
                except EOFError:
                    results[now] = [("crash", law, "the process died")]
                    report(now, results[now])
                    numbers = [n for n in numbers if n > now]
                    break
                if what == "done":
                    break
                if what == "start":
                    now, (law, since) = number, value
                else:
                    results[number] = value
                    numbers = [n for n in numbers if n > number]
                    if any(kind in BAD for kind, _, _ in value):
                        report(number, value)
            elif _cpu(worker.pid) - since > limit:
                worker.kill()
                results[now] = [("hang", law, f"more than {limit:.0f} s of CPU")]
                report(now, results[now])
                numbers = [n for n in numbers if n > now]
                break
        worker.join(1.0)
    return results


def logged(log, first, count, run):
    """Return the results of `run(first, count)`, lump by lump, with those that the file `log` has already."""
    log = Path(log)
    results = dict(map(json.loads, log.read_text().splitlines())) if log.exists() else {}
    for start in range(first, first + count, LUMP):
        size = min(LUMP, first + count - start)
        if all(number in results for number in range(start, start + size)):
            continue
        found = run(start, size)
        with log.open("a") as file:
            file.writelines(f"{json.dumps(entry)}\n" for entry in sorted(found.items()))
        results |= found
    return {n: found for n, found in results.items() if first <= n < first + count}


def table(results):
    """Return lines that count how the mechanisms ended, with the reasons."""
    kinds = Counter()
    reasons = Counter()
    parts = Counter[str]()
    for findings in results.values():
        parts.update(kind for what, _, words in findings if what == "made" for kind in words.split())
        kinds[
            min(
                (k for k, _, _ in findings if k not in ("noted", "made")),
                key=("hang", "crash", "wrong", "refused", "stopped", "unfit").index,
                default="kept all laws",
            )
        ] += 1
        for entry in {
            (kind, law if kind in BAD else "", reason(words))
            for kind, law, words in findings
            if kind != "made"
        }:
            reasons[entry] += 1
    lines = [f"{len(results)} mechanisms: " + ", ".join(f"{n} {kind}" for kind, n in kinds.most_common())]
    for (kind, law, words), n in sorted(reasons.items(), key=lambda x: (x[0][0], -x[1])):
        lines.append(f"{n:6d}  {kind:8s} {law:18s} {words}")
    lines.append("mechanisms by the kinds of their parts:")
    lines += [f"{n:6d}  {kind}" for kind, n in sorted(parts.items(), key=lambda x: -x[1])]
    return lines


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--count", type=int, default=1000)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--first", type=int, default=0)
    parser.add_argument("--limit", type=float, default=60.0)
    parser.add_argument("--laws", default=",".join(LAWS))
    parser.add_argument("--log", help="file of results, to go on after a stop")
    parser.add_argument("--shrink", action="store_true", help="make recipes of failures small")
    given = parser.parse_args()

    def report(number, findings):
        recipe = numbered_recipe(given.seed, number)
        for kind, law, words in findings:
            if kind in BAD:
                print(f"{number}: {kind} {law}: {words}\n    {recipe}", flush=True)
                if given.shrink and kind != "hang":
                    print(f"    smallest: {smallest(recipe, kind, law)}", flush=True)

    def run(first, count):
        laws = given.laws.split(",")
        return campaign(given.seed, count, first, given.limit, laws, report)

    results = logged(given.log, given.first, given.count, run) if given.log else run(given.first, given.count)
    print("\n".join(table(results)))


if __name__ == "__main__":
    main()
