"""Say which formulation, integrator and tolerance are best for a model of your own."""

from argparse import ArgumentParser, Namespace
from typing import Any

from . import DONE, NO, Outcome

EXAMPLES = (
    "treemech compare linkage.py",
    "treemech compare linkage.json --time 0 2 --start A=0.3 A.u=2 --error 1e-8 --out results",
)
CODES = {NO: "no candidate reaches the error in the time given"}
_DURATION = 10.0  # s


def arguments(parser: ArgumentParser) -> None:
    parser.add_argument(
        "file", help="a Python file with `system` (and `state`, `DURATION`), or a file that tm.read knows"
    )
    parser.add_argument(
        "--time",
        nargs=2,
        type=float,
        metavar=("BEGIN", "END"),
        help="default: 0 to DURATION of the file, or 10",
    )
    parser.add_argument(
        "--start", nargs="+", action="extend", default=[], metavar="NAME=VALUE",
        help="coordinates A=0.3, B=1,0,0,0 or B[1]=2, speeds A.u=2; closed chains are assembled; in place of the start of the file",
    )  # fmt: skip
    parser.add_argument(
        "--error", type=float, default=1e-6, help="at which candidates are ranked (default: 1e-6)"
    )
    parser.add_argument(
        "--rtol", nargs="+", type=float, help="the ladder of tolerances (default: 1e-3 to 1e-12)"
    )
    parser.add_argument("--formulation", nargs="+", metavar="F", help="only these, or parts of names")
    parser.add_argument("--integrator", nargs="+", metavar="I", help="only these, of mech.simulate")
    parser.add_argument("--seconds", type=float, default=60.0, help="CPU time for all runs (default: 60)")
    parser.add_argument("--all", action="store_true", help="list every run, not the ranking")
    parser.add_argument("--out", help="folder for compare.csv and compare.png (if matplotlib is there)")


def run(given: Namespace) -> Outcome:
    from treemech.topology import TreemechError

    from ..comparison import compare, model_in

    system, state, duration = model_in(given.file)
    span = given.time or (0.0, duration or _DURATION)
    if given.start:
        state = _start(system.build(), given.start, span[0])
    found = compare(
        system, state, span, given.rtol, given.formulation, given.integrator, given.seconds, progress=True
    )
    try:
        found.best(given.error)
        code = DONE
        ranked = True
    except TreemechError:
        code, ranked = NO, given.error >= found.reference.uncertainty
    table = found.table(None if given.all or not ranked else given.error)
    written = _written(found, given.out)
    lines = [table, "", found.verdict_at(given.error), *(f"  {path}" for path in written)]
    data = {
        **found.as_dict(),
        "error": given.error,
        "verdict": found.verdict_at(given.error),
        "files": written,
    }
    return Outcome(lines, data, code)


def _written(found: Any, folder: str | None) -> list[str]:
    """Write table and picture into the folder; return the paths."""
    if folder is None:
        return []
    from importlib.util import find_spec
    from pathlib import Path

    place = Path(folder)
    place.mkdir(parents=True, exist_ok=True)
    files = [found.to_csv(place / "compare.csv")]
    if find_spec("matplotlib"):
        import matplotlib

        matplotlib.use("Agg")
        found.plot(place / "compare.png")
        files.append(place / "compare.png")
    return [str(path) for path in files]


def _start(mech: Any, texts: list[str], t: float) -> Any:
    """Return the state with these coordinates and speeds; the others follow."""
    from treemech.topology import TreemechError

    q: dict[str, Any] = {}
    u: dict[str, Any] = {}
    for text in texts:
        name, separator, value = text.partition("=")
        try:
            numbers = [float(part) for part in value.split(",")]
        except ValueError:
            numbers = []
        if not separator or not name.strip() or not numbers:
            raise TreemechError(
                f"--start {text}: wanted NAME=VALUE or NAME.u=VALUE, several values with commas."
            )
        name, kind = name.strip(), q
        if name.endswith(".u"):
            name, kind = name[:-2], u
        kind[name] = numbers[0] if len(numbers) == 1 else numbers
    return mech.assemble(t, fix=q, rates=u)
