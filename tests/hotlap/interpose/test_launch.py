"""A script under `hotlap run` meets what it meets under plain Python: no torch is needed here."""

import os
import pty
import re
import signal
import subprocess
import sys

import pytest

from hotlap.errors import UserInputError
from hotlap.interpose.console_script import why_not
from hotlap.interpose.launch import found
from tests.hotlap.interpose.conftest import said

NOTHING = "settings: {}\n"
SOMETHING = "settings: {num_workers: 2}\n"

LOOK = """\
import os, sys, threading
import sibling
print(__name__, __file__, __package__, __spec__ and __spec__.name, __doc__)
print(sorted(globals()))
print(sys.argv, sys.path[0] == os.getcwd(), sys.path[0], os.getcwd())
print(type(__loader__).__name__, sys.modules["__main__"].__dict__ is globals())
print(__builtins__, sorted(n for n in sys.modules if n.startswith("torch")))
print(sys.stdin.read())
"""

ARGUMENTS = ["--lr=0.1", "--name", "a=b, c", "~x", "it's", '"q"', "", "--settings", "--", "-m"]


def same(runs, words, settings=NOTHING, **more):
    """Run both ways; the script must not be able to tell the difference."""
    plain, ours = runs.plain(*words, **more), runs.hotlap(settings, *words, **more)
    assert ours.returncode == plain.returncode
    assert ours.stdout == plain.stdout
    assert (said(ours) if settings == NOTHING else ours.stderr) == plain.stderr
    return ours


@pytest.mark.parametrize("name", ["look.py", "x=1/my folder/look at it.py"])
def test_a_script_sees_its_arguments_names_paths_and_input_as_ever(runs, name):
    script = runs.file(name, LOOK)
    (script.parent / "sibling.py").write_text("")
    done = same(runs, [name, *ARGUMENTS], input="typed\n")
    assert "typed" in done.stdout and repr(ARGUMENTS)[1:-1] in done.stdout


def test_a_link_to_a_script_finds_the_modules_beside_the_script(runs):
    runs.file("there/look.py", LOOK)
    runs.file("there/sibling.py", "")
    (runs.folder / "link.py").symlink_to("there/look.py")
    assert same(runs, ["link.py"], input="").returncode == 0


@pytest.mark.parametrize("name", ["package.train", "package"])
def test_a_module_of_a_package_runs_with_its_relative_imports(runs, name):
    text = LOOK.replace("import sibling", "from . import sibling")
    for file in ("package/train.py", "package/__main__.py"):
        runs.file(file, text)
    runs.file("package/__init__.py", "import sys; print('while imported', sys.argv[1:])")
    runs.file("package/sibling.py", "")
    done = same(runs, ["-m", name, *ARGUMENTS], input="")
    assert "while imported" in done.stdout and "__main__" in done.stdout


FIRST_LINES = [
    "#!{}\n",
    "#!/bin/sh\n'''exec' \"{}\" \"$0\" \"$@\"\n' '''\n",  # pip, where the path has a space
    "#!/bin/sh\n'''exec' {} \"$0\" \"$@\"\n' '''\n",  # and where it is too long
    "#!/bin/sh\n'''exec' '{}' \"$0\" \"$@\"\n' '''\n",  # uv
]


@pytest.fixture
def program(runs, monkeypatch):
    """Makes a program on the search path, which begins with these lines."""
    monkeypatch.setenv("PATH", f"{runs.folder / 'bin'}{os.pathsep}{os.environ['PATH']}")

    def program(first_lines):
        path = runs.file("bin/my-train", f"{first_lines}import sys\nprint(sys.argv[1:])\n")
        path.chmod(0o755)
        return str(path)

    return program


@pytest.mark.parametrize("first_lines", FIRST_LINES[:2])
def test_an_installed_program_is_found_by_its_name(runs, program, first_lines):
    program(first_lines.format(sys.executable))
    done = runs.hotlap(NOTHING, "my-train", "--lr", "0.1", env={"PATH": os.environ["PATH"]})
    assert (done.returncode, done.stdout) == (0, "['--lr', '0.1']\n"), done.stderr


@pytest.mark.parametrize("first_lines", FIRST_LINES)
def test_a_program_of_another_environment_is_told_by_its_python(runs, program, first_lines):
    path = program(first_lines.format(sys.executable))
    assert found("my-train") == path
    # In a virtual environment it is a link, to the very one perhaps to which this one is a link.
    other = runs.file("other/bin/python3", "")
    other.unlink()
    other.symlink_to(os.path.realpath(sys.executable))
    runs.file("other/pyvenv.cfg", "")
    program(first_lines.format(other))
    with pytest.raises(UserInputError, match=re.escape(f"another Python ({other})")):
        found("my-train")
    assert found(path) == path


@pytest.mark.parametrize("has_base", [True, False])
def test_a_program_of_the_base_is_this_one_s_too_where_its_packages_are(
    runs, program, monkeypatch, has_base
):
    base = runs.file("base/bin/python3", "")
    path = program(f"#!{base}\n")
    inner = runs.file("inner/bin/python3", "")
    inner.unlink()
    inner.symlink_to(base)
    text = f"home = {base.parent}\ninclude-system-site-packages = {str(has_base).lower()}\n"
    runs.file("inner/pyvenv.cfg", text)
    monkeypatch.setattr(sys, "executable", str(inner))
    assert (why_not(path) == "") is has_base


def test_a_program_of_whatever_environment_there_is_or_of_that_around_it(
    runs, program, monkeypatch
):
    path = program("#!/usr/bin/env python3\n")
    assert found("my-train") == path
    here = '"$(dirname -- "$(realpath -- "$0")")"/\'python3\''  # as uv writes it
    program(FIRST_LINES[2].format(here))
    python = f"{runs.folder.resolve()}/bin/python3"
    with pytest.raises(UserInputError, match=re.escape(f"another Python ({python})")):
        found("my-train")
    monkeypatch.setattr(sys, "executable", python)
    assert found("my-train") == path


@pytest.mark.parametrize(
    ("ending", "code"),
    [
        ("sys.exit()", 0),
        ("sys.exit(7)", 7),
        ("sys.exit('a sentence')", 1),
        ("1 / 0", 1),
        ("from_a_function()", 1),
        ("raise KeyboardInterrupt", -signal.SIGINT),
        ("os.kill(os.getpid(), signal.SIGTERM)", -signal.SIGTERM),
        ("os._exit(3)", 3),
        ("def broken(:", 1),
    ],
)
def test_a_script_ends_as_ever(runs, ending, code):
    text = f"import os, signal, sys\ndef from_a_function():\n    raise OSError('x')\n{ending}\n"
    runs.file("end.py", text)
    plain, ours = runs.plain("end.py"), runs.hotlap(SOMETHING, "end.py")
    assert ours.returncode == plain.returncode == code
    lines = [line for line in ours.stderr.splitlines() if "was not in force: " not in line]
    assert lines == plain.stderr.splitlines()


def test_threads_and_exit_handlers_still_have_the_script_s_names(runs):
    runs.file(
        "late.py",
        "import atexit, pickle, threading, time\n"
        "class Mine: pass\n"
        "def late(): time.sleep(0.2); print('thread', pickle.loads(pickle.dumps(Mine())) is None)\n"
        "atexit.register(lambda: print('exit', pickle.dumps(Mine()) and True))\n"
        "threading.Thread(target=late).start()\n",
    )
    done = same(runs, ["late.py"])
    assert done.stdout == "thread False\nexit True\n"


def test_processes_that_the_script_starts_import_the_script_and_not_hotlap(runs):
    runs.file(
        "spawns.py",
        "import multiprocessing, sys\n"
        "def work(queue): queue.put((__name__, 'hotlap' in sys.modules))\n"
        "if __name__ == '__main__':\n"
        "    multiprocessing.set_start_method('spawn')\n"
        "    queue = multiprocessing.Queue()\n"
        "    child = multiprocessing.Process(target=work, args=(queue,))\n"
        "    child.start(); print(queue.get()); child.join()\n",
    )
    assert same(runs, ["spawns.py"]).stdout == "('__mp_main__', False)\n"


def test_signal_handlers_are_those_that_python_sets(runs):
    runs.file(
        "handlers.py",
        "import signal\nprint([signal.getsignal(n) for n in sorted(signal.valid_signals())\n"
        "       if n not in (9, 19)])\n",
    )
    ours, plain = runs.hotlap(NOTHING, "handlers.py"), runs.plain("handlers.py")
    assert ours.stdout.partition(" at 0x")[0] == plain.stdout.partition(" at 0x")[0]


def test_warnings_are_shown_as_ever(runs):
    runs.file("warns.py", "import warnings\nwarnings.warn('old', DeprecationWarning)\n")
    assert "warns.py:2: DeprecationWarning: old" in same(runs, ["warns.py"]).stderr


def test_a_script_on_a_terminal_has_the_terminal(runs):
    path = runs.file("frozen.yaml", SOMETHING)
    runs.file("asks.py", "import sys; print(sys.stdin.isatty(), sys.stdout.isatty())")
    ours, theirs = pty.openpty()
    with subprocess.Popen(
        [*runs.command(path), "asks.py"],
        cwd=runs.folder, env=runs.env, stdin=theirs, stdout=theirs, stderr=theirs,
    ) as child:  # fmt: skip
        assert child.wait(timeout=60) == 0
    assert os.read(ours, 1024).split()[:2] == [b"True", b"True"]
    os.close(ours)
    os.close(theirs)


@pytest.mark.parametrize(
    ("words", "sentence"),
    [
        (["nowhere.py"], "there is no script nowhere.py here"),
        (["."], ". is a folder; give the script in it"),
        (["end.py/"], "there is no script end.py/ here"),
        (["-m", "."], "there is no module . that can be run"),
        (["ls"], "is no Python program"),
        (["-m", "no_such.module"], "there is no module no_such.module that can be run"),
        (["--lr", "0.1"], "--lr is no option of `hotlap run`"),
        ([], "the script is missing"),
        (["-m"], "the script is missing"),
    ],
)
def test_wrong_input_is_told_in_a_sentence_with_code_2(runs, words, sentence):
    runs.file("end.py", "")
    done = runs.hotlap(SOMETHING, *words)
    assert done.returncode == 2 and sentence in done.stderr
    assert "Traceback" not in done.stderr and "not in force" not in done.stderr


@pytest.mark.parametrize(
    ("settings", "words"),
    [
        ("settings: {num_wokers: 4}\n", "did you mean 'num_workers'?"),
        ("settings: {}\nprovenance: {tuned: 5}\n", "provenance.tuned is 5; it has to be a list"),
        (
            "settings: {}\nprovenance: {override: amp}\n",
            "provenance.override is 'amp'; it has to be a list",
        ),
        (
            "settings: {}\nprovenance: {imposed: amp}\n",
            "provenance.imposed is 'amp'; it has to be a list",
        ),
    ],
)
def test_a_wrong_settings_file_is_told_before_the_script_begins(runs, settings, words):
    runs.file("script.py", "print('begun')")
    done = runs.hotlap(settings, "script.py")
    assert done.returncode == 2 and done.stdout == ""
    assert words in done.stderr


def test_a_file_with_the_scripts_own_way_alone_is_not_said_to_have_the_defaults(runs):
    runs.file("script.py", "")
    own = "settings: {num_workers: 3}\nprovenance: {tuned: [], script: script.py}\n"
    (told,) = runs.hotlap(own, "script.py").stderr.splitlines()
    assert told.startswith("hotlap: nothing to put in force: ") and "PyTorch" not in told
    assert told.endswith(", and its provenance lists no setting as tuned or imposed")


def test_a_missing_module_of_a_package_is_the_script_s_own_error(runs):
    runs.file("package/__init__.py", "import not_installed_anywhere")
    runs.file("package/train.py", "")
    done = runs.hotlap(NOTHING, "-m", "package.train")
    assert done.returncode == 1 and "No module named 'not_installed_anywhere'" in done.stderr


def test_a_module_that_the_script_cannot_have_is_named(runs):
    runs.file("sub/hotlap.py", "mine = 1")
    runs.file("sub/look.py", "from hotlap import mine")
    done = runs.hotlap(NOTHING, "sub/look.py")
    assert done.returncode == 2
    assert "rename hotlap.py" in done.stderr
