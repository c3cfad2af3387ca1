"""The benchmark runs by name: ``python -m treemech.benchmarks NAME [options]``."""

import argparse
import sys
from importlib import import_module

# name -> (module with main(argv), what it does)
RUNS = {
    "core": ("runs.core", "speed of the compiled core against Pinocchio, MuJoCo and scipy"),
    "calls": ("runs.calls", "calls from Python against those of Pinocchio and MuJoCo"),
    "batch": (
        "runs.many.batch",
        "many states, steps and runs against MuJoCo's and Pinocchio's parallel calls",
    ),
    "loops": ("runs.loops", "closed chains through singular positions against Pinocchio, Exudyn and MuJoCo"),
    "stiff": ("runs.stiff", "a stiff governor against scipy's Radau on the same right-hand side"),
    "stiff-chains": ("runs.stiff_chains", "stiff closed chains with exact Jacobians and with differences"),
    "parameters": ("runs.parameter_derivatives", "derivatives by parameters, exact and by differences"),
    "pump": ("runs.pump", "Sol's fuel injection pump: printed numbers, figures, time against scipy's Radau"),
    "compare": ("runs.compare", "formulations of the equations of motion side by side"),
    "peers": ("runs.peers", "the same problems in Pinocchio, MuJoCo, Exudyn and Drake: time to an error"),
    "ik": (
        "runs.ik",
        "inverse kinematics: success and time beside the iteration of Pinocchio's documentation",
    ),
    "checkouts": (
        "checkouts",
        "two checkouts in turns: whether the core has become slower, or its numbers others",
    ),
    "reference": ("runs.reference", "problems with known answers: error and time"),
}


def main(argv: list[str] | None = None) -> int:
    """Run the benchmark named first; the rest of the arguments is its own."""
    listed = "\n".join(f"  {name:12s}{text}" for name, (_, text) in RUNS.items())
    parser = argparse.ArgumentParser(
        prog="treemech.benchmarks",
        description=f"runs:\n{listed}\n\n'NAME --help' shows the options of a run.",
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("name", choices=RUNS, metavar="NAME", help="which run")
    parser.add_argument("arguments", nargs=argparse.REMAINDER, metavar="...", help="its options")
    given = parser.parse_args(argv)
    module = import_module(f".{RUNS[given.name][0]}", __package__)
    return int(module.main(given.arguments) or 0)


if __name__ == "__main__":
    sys.exit(main())
