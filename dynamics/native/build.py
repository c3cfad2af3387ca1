"""Build the compiled core into plain shared libraries, one per target CPU, and the manifest beside them.

The core comes in pieces (`pieces.py`). Numba types and lowers the functions of a piece once; all of their code is
optimised as one module and emitted as an object file for every target (`worker.py`, one process per core of this
machine). The C compiler links the objects: pieces of derivatives and of lanes to libraries of their own, which are
built last and opened on first need. The result needs neither Python nor numba (elements.native.library opens it by ctypes). The
link fails if a symbol of Python is left: entry points allocate nothing and raise nothing.

Pieces are kept in the user's cache folder under the hash of what they are compiled from. So an edit costs the
pieces that it changes, and a build that was interrupted goes on where it was.
"""

import argparse
import hashlib
import json
import os
import platform
import shutil
import signal
import subprocess
import sys
import sysconfig
import tempfile
import threading
import time
from collections.abc import Callable, Iterable, Sequence
from importlib.metadata import version
from importlib.util import find_spec
from pathlib import Path
from queue import SimpleQueue
from typing import Any

from treemech.elements.native import library
from treemech.elements.native.faults import damage, digests
from treemech.elements.native.place import cache_root
from treemech.elements.native.sources import (
    FOLDER,
    MANIFEST,
    core_hash,
    package_folder,
    read_manifest,
    source_hash,
)

from . import budget
from . import pieces as parts
from .linking import BuildError, compiler, link
from .pieces import STAGES, Piece

TARGETS = ("base", "v3")
LIBRARIES = ("core", "derivatives", "lanes")
_KEPT_DAYS = 30  # pieces that no build has used for so long leave the cache
_LONGEST = 3600.0  # [s] no build takes longer: what is left of an older one was abandoned


def machine_targets() -> tuple[str, ...]:
    """Return the targets that make sense on this machine."""
    return TARGETS if _x86() else TARGETS[:1]


def _x86() -> bool:
    return platform.machine().lower() in ("x86_64", "amd64")


def obstacle() -> str:
    """Say why no library can be built here; return an empty text if one can."""
    if compiler() is None:
        return "no C compiler found"
    missing = [name for name in ("numba", "scipy") if find_spec(name) is None]
    return f"{' and '.join(missing)} not installed" if missing else ""


def fingerprint() -> dict[str, str]:
    """Return what a built library depends on: it is up to date if its manifest has the same entries."""
    builder = hashlib.sha256()
    for name in ("build.py", "linking.py", "pieces.py", "worker.py"):  # not those that only report
        builder.update(Path(__file__).with_name(name).read_bytes())
    return {
        "hash": core_hash(),
        "builder": builder.hexdigest()[:16],
        "platform": sysconfig.get_platform(),
    }


def up_to_date(folder: Path, targets: Iterable[str] | None = None, stage: str = "all") -> bool:
    """Tell whether the folder holds what build_library would write there, or more."""
    targets = _targets_of(stage) if targets is None else targets
    try:
        manifest = json.loads((folder / MANIFEST).read_text())
    except (OSError, ValueError):
        return False
    if STAGES.index(manifest.get("stage", "first")) < STAGES.index(stage):
        return False
    files = all(target in manifest.get("targets", ()) for target in targets) and all(
        (folder / name).exists() for name in manifest.get("files", {})
    )
    return files and all(manifest.get(k) == v for k, v in fingerprint().items())


def _targets_of(stage: str) -> tuple[str, ...]:
    """Return the targets of a stage: a first simulation is for this machine alone."""
    if stage == "first" and _x86():
        return ("v3",) if _is_v3() else ("base",)
    return machine_targets()


def _is_v3() -> bool:
    """Tell whether this machine can run the target v3."""
    from ctypes import CDLL

    with tempfile.TemporaryDirectory(ignore_cleanup_errors=True) as folder:  # Windows keeps what is open
        link((), Path(folder, "cpu" + library.SUFFIX))
        return bool(CDLL(str(Path(folder, "cpu" + library.SUFFIX))).treemech_cpu_v3())


def file_name(target: str, of: str = "core") -> str:
    return f"{of}-{target}{library.SUFFIX}"


# ---------------------------------------------------------------- the build
def build_library(
    folder: str | Path,
    targets: Iterable[str] | None = None,
    log: Callable[[str], object] = print,
    stage: str = "all",
) -> list[Path]:
    """Build the libraries for the targets (default: those of this machine) and the manifest.

    The stages are "first" (what a first simulation needs, for this CPU only), "core" (everything but derivatives
    and lanes), "derivatives" (everything but lanes) and "all". Return the files.

    Every file is replaced as a whole, the manifest last, so that simultaneous builds do no harm.
    """
    reason = obstacle()
    if reason:
        raise BuildError(reason)
    supported = machine_targets()
    given = list(supported if targets is None else targets)
    if set(given) - set(TARGETS) or "base" not in given:
        raise BuildError(f"targets are {given}; wanted 'base' and, on x86-64, perhaps 'v3'.")
    chosen = [t for t in (given if stage != "first" else _targets_of(stage)) if t in supported]
    folder, started, sources = Path(folder).absolute(), time.perf_counter(), source_hash()
    wanted = parts.pieces(stage)
    folder.mkdir(parents=True, exist_ok=True)
    _forget_abandoned(folder)
    files = list[Path]()
    with tempfile.TemporaryDirectory(dir=folder, prefix=".build-") as temporary:
        figures: dict[str, Any] = {}
        # usable before all is there
        for step in dict.fromkeys(min(stage, step, key=STAGES.index) for step in STAGES[1:]):
            now = [piece for piece in wanted if STAGES.index(piece.stage) <= STAGES.index(step)]
            compile_pieces([p for p in now if p.name not in figures], chosen, Path(temporary), log, figures)
            if source_hash.__wrapped__() != sources:
                raise BuildError("the sources changed during the build")
            manifest = {**fingerprint(), **_contents(now, sources), "stage": step, "targets": chosen}
            files = _install(now, chosen, Path(temporary), folder, {**manifest, "figures": figures})
            forget_old_pieces()
            what = {"derivatives": "derivatives", "all": "lanes"}.get(step, "core")
            log(f"{what} ready in {time.perf_counter() - started:.0f} s")
    return files


def _forget_abandoned(folder: Path) -> None:
    """Remove what builds that were killed have left."""
    for path in folder.glob(".build-*"):
        if path.stat().st_mtime < time.time() - _LONGEST:
            shutil.rmtree(path, ignore_errors=True)


def _install(
    wanted: Sequence[Piece], targets: Sequence[str], temporary: Path, folder: Path, manifest: dict[str, Any]
) -> list[Path]:
    """Link the libraries and put them and the manifest into the folder, the manifest last."""
    files = _link_all(wanted, targets, temporary)
    manifest["files"] = digests(temporary, [path.name for path in files])
    Path(temporary, MANIFEST).write_text(json.dumps(manifest, indent=1) + "\n")
    names = [*(path.name for path in files), MANIFEST]
    for name in names:
        os.replace(temporary / name, folder / name)
    for old in {file_name(target, of) for target in TARGETS for of in LIBRARIES} - set(names):
        (folder / old).unlink(missing_ok=True)
    read_manifest.cache_clear()
    library.manifest.cache_clear()
    damage.cache_clear()
    return [folder / name for name in names]


def _contents(wanted: Sequence[Piece], sources: str) -> dict[str, Any]:
    """Return what the manifest says about the contents of the libraries."""
    from .entry_points import PROTOTYPES

    entries = {name for piece in wanted for name in piece.entries}
    elements = {name: kinds for piece in wanted for name, kinds in piece.elements.items()}
    return {
        "sources": sources,
        "numba": version("numba"),
        "entries": [name for name in PROTOTYPES if name in entries],
        "elements": elements,
        **{
            of: [name for piece in wanted if piece.library == of for name in piece.exported]
            for of in LIBRARIES[1:]
        },
    }


def _link_all(wanted: Sequence[Piece], targets: Sequence[str], folder: Path) -> list[Path]:
    """Link the libraries. The one for any CPU is always there, because it can tell what this CPU is."""
    files = []
    for of in LIBRARIES:
        for target in TARGETS if of == "core" else targets:
            own = [piece for piece in wanted if piece.library == of] if target in targets else []
            if own or (target, of) == ("base", "core"):
                files.append(folder / file_name(target, of))
                objects = [folder / f"{piece.key}-{target}.o" for piece in own]
                link(objects, files[-1], [name for piece in own for name in piece.exported])
    return files


def compile_pieces(
    wanted: Sequence[Piece],
    targets: Sequence[str],
    folder: Path,
    log: Callable[[str], object],
    figures: dict[str, Any],
) -> None:
    """Put the object files of the pieces into the folder, from the cache or compiled. Note what they cost."""
    kept, jobs = kept_folder(), []
    for piece in wanted:
        figures[piece.name], missing, code = _from_cache(piece, targets, kept, folder)
        if missing:
            job = {"name": piece.name, "file": piece.file, "key": piece.key, "family": piece.family}
            jobs.append({**job, "lowered": code, "targets": missing})
    if not jobs:
        return
    log(
        f"compiling {len(jobs)} of {len(wanted)} pieces: about {_left(jobs, len(targets)):.0f} s "
        f"if {_cores()} processors have nothing else to do"
    )
    keys = {piece.name: piece.key for piece in wanted}
    done = set[str]()
    for report in _reports(jobs, folder):
        name = report["name"]
        if "error" in report:
            raise BuildError(f"compiling {name} failed: {report['error']}")
        for what in ("seconds", "sizes"):
            figures[name].setdefault(what, {}).update(report[what])
        figures[name]["unit"] = report["unit"]
        _keep(keys[name], figures[name], folder, kept)
        done.add(name)
        left = _left([job for job in jobs if job["name"] not in done], len(targets))
        spent = budget.seconds_of(report)
        log(f"{len(done)}/{len(jobs)} {name} {spent:.1f} s" + (f", {left:.0f} s left" if left else ""))


def _left(jobs: Sequence[dict[str, Any]], targets: int) -> float:
    """Return about how many seconds the jobs take, from what they took when it was recorded for two targets."""
    return budget.expected(job["name"] for job in jobs) * (1 + targets) / 3.0 / _cores()


def _from_cache(
    piece: Piece, targets: Sequence[str], kept: Path, folder: Path
) -> tuple[dict[str, Any], list[str], str]:
    """Copy what the cache holds of a piece. Return its figures, the targets that are missing, its lowered code."""
    figures: dict[str, Any] = {}
    missing, code = [], kept / f"{piece.key}.bc"
    try:
        figures = json.loads((kept / f"{piece.key}.json").read_text())
    except (OSError, ValueError):
        return {}, list(targets), ""
    for target in targets:
        try:
            found = kept / f"{piece.key}-{target}.o"
            if found.stat().st_size != figures["sizes"][target]:
                raise OSError
            shutil.copyfile(found, folder / found.name)
            for used in (found, code, code.with_suffix(".json")):
                os.utime(used)
        except (OSError, KeyError):
            missing.append(target)
    return figures, missing, str(code) if code.exists() else ""


def _keep(key: str, figures: dict[str, Any], folder: Path, kept: Path) -> None:
    """Copy the files of a piece to the cache. A cache that cannot be written only costs time later."""
    try:
        kept.mkdir(parents=True, exist_ok=True)
        (folder / f"{key}.json").write_text(json.dumps(figures))
        for path in sorted(folder.glob(f"{key}*"), key=lambda p: p.suffix == ".json"):
            temporary = kept / f"{path.name}.{os.getpid()}"
            shutil.copyfile(path, temporary)
            os.replace(temporary, kept / path.name)
    except OSError:
        pass


def forget_old_pieces() -> None:
    """Remove from the cache what no build has used for a month."""
    oldest = time.time() - 86400.0 * _KEPT_DAYS
    try:
        for path in kept_folder().iterdir():
            if path.stat().st_mtime < oldest:
                path.unlink(missing_ok=True)
    except OSError:
        pass


def kept_folder() -> Path:
    """Return the folder of the cache that keeps pieces between builds."""
    return cache_root() / "pieces"


# ---------------------------------------------------------------- processes
def _reports(jobs: Sequence[dict[str, Any]], folder: Path) -> Iterable[dict[str, Any]]:
    """Run all jobs, one process per core of this machine. Yield the reports as they come."""
    reports, queue = SimpleQueue[Any](), _Queue(jobs)
    workers = [_start(folder) for _ in range(min(len(jobs), _cores()))]

    def serve(worker: Any) -> None:
        while job := queue.take(worker.pid):
            worker.stdin.write(json.dumps(job) + "\n")
            worker.stdin.flush()
            line = worker.stdout.readline()
            reports.put(json.loads(line) if line else {"name": job["name"], "error": "the process was ended"})

    threads = [threading.Thread(target=serve, args=(worker,), daemon=True) for worker in workers]
    try:
        for thread in threads:
            thread.start()
        for _ in jobs:
            yield reports.get()
    finally:
        queue.clear()
        for worker in workers:
            worker.kill()
            worker.wait()


class _Queue:
    """Jobs for several processes. Pieces of one family share helper functions, so one process takes them all."""

    def __init__(self, jobs: Sequence[dict[str, Any]]) -> None:
        self._lock = threading.Lock()
        self._left: dict[str, list[dict[str, Any]]] = {}
        self._family_of: dict[int, str] = {}
        for job in jobs:
            self._left.setdefault(job["family"], []).append(job)

    def take(self, worker: int) -> dict[str, Any] | None:
        """Return the next job of a process: of its family, of one that nobody works on, or of the largest."""
        with self._lock:
            self._left = {family: jobs for family, jobs in self._left.items() if jobs}
            if not self._left:
                return None
            own = self._family_of.get(worker)
            if own not in self._left:
                others = {f for w, f in self._family_of.items() if w != worker}
                free = [f for f in self._left if f not in others]
                own = (free or sorted(self._left, key=lambda f: -len(self._left[f])))[0]
            self._family_of[worker] = own
            return self._left[own].pop(0)

    def clear(self) -> None:
        with self._lock:
            self._left = {}


def _cores() -> int:
    """Return how many processes compile at the same time (they take up to 1 GB each)."""
    return min(4, len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1)


def _start(folder: Path) -> Any:
    root = str(package_folder().parent)
    environment = {k: v for k, v in os.environ.items() if not k.startswith("NUMBA_")}
    environment |= {
        "PYTHONPATH": os.pathsep.join(p for p in (root, os.environ.get("PYTHONPATH")) if p),
        "PYTHONHASHSEED": "0",  # so that the same sources give the same library
        "NUMBA_CPU_NAME": "x86-64" if _x86() else "generic",
        "NUMBA_CPU_FEATURES": "",
        "NUMBA_DISABLE_INTEL_SVML": "1",
    }
    command = [sys.executable, "-m", f"{__package__}.worker", str(folder), "x86" if _x86() else "other"]
    return subprocess.Popen(
        command, env=environment, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, bufsize=1,
        start_new_session=True,  # Ctrl-C is for this process, which ends them
    )  # fmt: skip


def say(line: str) -> None:
    print(f"treemech: {line}", flush=True)


def main() -> None:
    parser = argparse.ArgumentParser(description="Build the compiled core of treemech as shared libraries.")
    parser.add_argument("--out", type=Path, help="folder to write to (default: inside the package)")
    parser.add_argument("--stage", choices=STAGES, default="all", help="how far to build (default: all)")
    parser.add_argument("--if-changed", action="store_true", help="do nothing if the library is up to date")
    parser.add_argument("--record", action="store_true", help="compile all anew and write down what it costs")
    arguments = parser.parse_args()
    folder = arguments.out or package_folder() / FOLDER
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(143))  # so that processes and files are cleared away
    if arguments.if_changed and up_to_date(folder, stage=arguments.stage):
        return
    try:
        if arguments.record:
            with tempfile.TemporaryDirectory() as empty:
                os.environ["TREEMECH_CACHE_DIR"] = empty
                build_library(folder, log=say)
        else:
            build_library(folder, stage=arguments.stage, log=say)
        figures = json.loads((folder / MANIFEST).read_text())["figures"]
        if arguments.record:
            budget.write_record(figures)
        print(budget.table(figures) if arguments.stage == "all" else "the rest of the core: make library")
    except BuildError as error:
        sys.exit(str(error))
    except KeyboardInterrupt:
        print("treemech: interrupted; the next build goes on with the pieces that are left", file=sys.stderr)
        sys.exit(130)


if __name__ == "__main__":
    main()
