"""The command line: greeting, help with examples, answers for people and for programs, exit codes."""

import json
import shlex
import subprocess
import sys

import pytest

from tests.support.places import ROOT
from treemech import __version__
from treemech.command import commands, main, plain

WRITES = {"demo", "example", "new"}  # into the folder --out
LONG = {"demo", "compare", "warmup", "doctor", "check", "clear-cache"}  # have tests of their own
LIST = {"check", "clear-cache", "compare", "demo", "doctor", "elements", "example", "info", "new", "warmup"}


def answer(capsys, *arguments):
    """Return (exit code, what was printed) of a command."""
    code = main(list(arguments))
    return code, capsys.readouterr().out


def test_every_command_has_its_file_and_help(capsys):
    assert set(commands()) >= LIST
    for name, module in commands().items():
        with pytest.raises(SystemExit) as left:
            main([name, "--help"])
        text = capsys.readouterr().out
        assert left.value.code == 0
        assert "examples:" in text and "exit codes:" in text and "--json" in text
        assert all(example.startswith(f"treemech {name}") for example in module.EXAMPLES)
        assert all(f"  {code}  " in text for code in (0, 2, *getattr(module, "CODES", {})))


def test_the_list_of_commands_names_each_in_one_line(capsys):
    with pytest.raises(SystemExit):
        main(["--help"])
    lines = capsys.readouterr().out.splitlines()
    for name in commands():
        assert [line for line in lines if line.split()[:1] == [name] and len(line.split()) > 3], name


def test_alone_it_greets(capsys):
    code, text = answer(capsys)
    assert code == 0
    for part in (__version__, "compiled core:", "treemech example four_bar", "treemech new hinge", "doc"):
        assert part in text
    code, text = answer(capsys, "--json")
    assert json.loads(text)["version"] == __version__ and len(json.loads(text)["try"]) == 3


def test_the_greeting_is_quick_and_loads_no_compiler():
    code = "import sys; from treemech.command import main; main([]); assert not {'numba', 'scipy', 'networkx'} & set(sys.modules)"
    done = subprocess.run([sys.executable, "-c", code], cwd=ROOT, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr


@pytest.mark.parametrize(
    "line", [line for name, m in commands().items() if name not in LONG for line in m.EXAMPLES]
)
def test_the_examples_of_the_help_run(line, capsys, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "src").mkdir()
    code, text = answer(capsys, *shlex.split(line)[1:])
    assert code == 0 and text
    code, text = answer(
        capsys, *shlex.split(line)[1:], *(["--out", "other"] if "new" in line else []), "--json"
    )
    assert code == 0 and json.loads(text)


def test_version(capsys):
    with pytest.raises(SystemExit) as left:
        main(["--version"])
    assert left.value.code == 0 and __version__ in capsys.readouterr().out


@pytest.mark.parametrize("arguments", [["prance"], ["new", "hinge"], ["info", "--jsn"]])
def test_wrong_use_gives_2(arguments, capsys):
    with pytest.raises(SystemExit) as left:
        main(arguments)
    assert left.value.code == 2 and "usage:" in capsys.readouterr().err


@pytest.mark.parametrize(
    "arguments, says",
    [
        (["example", "four_ba"], "did you mean 'four_bar'"),
        (["example", "four_bar", "--set", "stifness=3"], "did you mean 'stiffness'"),
        (["example", "four_bar", "--set", "stiffness"], "NAME=VALUE"),
        (["check", "nowhere.py"], "nowhere.py"),
        (["new", "hinge", "3rd"], "3rd"),
        (["demo", "--time", "-1"], "positive"),
        (["demo", "--out", "/dev/null/x"], "/dev/null"),
    ],
)
def test_what_is_not_there_gives_2_and_one_line(arguments, says, capsys, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    assert main(arguments) == 2
    captured = capsys.readouterr()
    assert captured.out == "" and says in captured.err and captured.err.count("\n") == 1
    assert main([*arguments, "--json"]) == 2
    assert says in json.loads(capsys.readouterr().out)["error"]


def test_an_example_that_misses_a_known_value_gives_1(capsys, tmp_path, monkeypatch):
    from treemech.benchmarks.problems.mechanisms import four_bar

    monkeypatch.setitem(four_bar.KNOWN, "crank, first acceleration", (-26.0, 1e-3, "wrong"))
    monkeypatch.setattr(four_bar, "DURATION", 0.5)
    code, text = answer(capsys, "example", "four_bar", "--out", str(tmp_path))
    assert code == 1 and "times as far" in text
    code, text = answer(capsys, "example", "four_bar", "--out", str(tmp_path), "--json")
    assert code == 1 and json.loads(text)["known"]["crank, first acceleration"]["deviation"] > 1


def test_examples_are_listed_with_what_they_are(capsys):
    code, text = answer(capsys, "example")
    assert code == 0 and "mechanisms" in text and "four_bar " in text
    code, text = answer(capsys, "example", "--json")
    assert {"name": "four_bar", "group": "mechanisms"}.items() <= next(
        e for e in json.loads(text) if e["name"] == "four_bar"
    ).items()


def test_a_broken_contract_gives_1(capsys, tmp_path):
    source = tmp_path / "bad.py"
    source.write_text(
        "from dataclasses import dataclass\nimport treemech as tm\n\n\n@dataclass(frozen=True)\nclass Bad(tm.Load):\n"
        "    size: float = 1.0\n\n    def evaluate(self, end, t, load):\n        load.force[7] = self.size\n"
    )
    code, text = answer(capsys, "check", str(source), "--json")
    assert code == 1 and json.loads(text)["broken"] == 1


def test_json_holds_nothing_but_json(capsys, tmp_path):
    code, text = answer(capsys, "demo", "--out", str(tmp_path), "--time", "0.5", "--json")
    assert code == 0 and json.loads(text)["success"] is True
    assert len(json.loads(text)["files"]) >= 4


def test_an_interrupt_gives_130(capsys, monkeypatch):
    def stop(given):
        raise KeyboardInterrupt

    monkeypatch.setattr(commands()["info"], "run", stop)
    assert main(["info"]) == 130 and "interrupted" in capsys.readouterr().err


def test_numbers_that_json_has_not_become_null():
    assert plain({"a": [float("inf"), 1.5], "b": {3: True}}) == {"a": [None, 1.5], "b": {"3": True}}


def test_a_reader_that_stops_reading_is_no_fault():
    code = "import sys; from treemech.command import main; sys.exit(main(['elements']))"
    done = subprocess.run(f'"{sys.executable}" -c "{code}" | head -1; exit ${{PIPESTATUS[0]}}', shell=True,
                          executable="/bin/bash", cwd=ROOT, capture_output=True, text=True)  # fmt: skip
    assert done.returncode == 0 and not done.stderr
