import os
import subprocess
import sys
import textwrap

import pytest

from tests.conftest import ROOT

pytestmark = pytest.mark.skipif(sys.platform == "win32", reason="no terminals of this kind")


def run(text, folder):
    """Run `text` in a session of its own, after it took a terminal; gives what it printed."""
    begin = """
        from hotlap.terminal import take_terminal
        assert take_terminal(33, 117) == ""
    """
    script = folder / "script.py"
    script.write_text(textwrap.dedent(begin) + textwrap.dedent(text))
    done = subprocess.run(
        [sys.executable, str(script)],
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        start_new_session=True,
        env={**os.environ, "PYTHONPATH": str(ROOT)},
        timeout=60,
    )
    assert done.returncode == 0, done.stderr
    return done.stdout


def test_stty_tells_the_tuners_size_as_a_script_asks_for_it_at_import(tmp_path):
    said = run("import os; print(os.popen('stty size', 'r').read().split())", tmp_path)
    assert said == "['33', '117']\n"


def test_all_ways_to_read_end_at_once_and_again(tmp_path):
    text = """
        import getpass, os, subprocess, sys, termios
        for ask in (input, input, getpass.getpass, input):
            try:
                print("typed", ask())
            except EOFError:
                print("end")
        print(repr(sys.stdin.read()), os.read(0, 10), sys.stdin.isatty())
        termios.tcflush(0, termios.TCIFLUSH)
        print(os.read(0, 10), subprocess.run(["cat"], capture_output=True).stdout)
        apart = subprocess.run(["cat"], capture_output=True, start_new_session=True)
        print(apart.stdout, apart.stderr)
    """
    said = run(text, tmp_path).splitlines()
    assert said == ["end", "end", "end", "end", "'' b'' True", "b'' b''", "b'' b''"]


def test_it_is_the_sessions_own_terminal_and_output_stays_where_it_was(tmp_path):
    text = """
        import os, sys
        with open("/dev/tty", "rb", buffering=0) as tty:
            print(os.tcgetpgrp(tty.fileno()) == os.getpgrp(), sys.stdout.isatty(), os.isatty(2))
    """
    assert run(text, tmp_path) == "True False False\n"


def test_nothing_is_left_of_it(tmp_path):
    name = run("import os; print(os.ttyname(0))", tmp_path).strip()
    assert name and not os.path.exists(name)


def test_a_session_that_may_have_no_terminal_is_still_told_its_size(tmp_path):
    text = """
        import os
        if os.fork() == 0:
            os.setpgid(0, 0)
            assert take_terminal(20, 30) == ""
            os.system("stty size")
            os._exit(0)
        os.wait()
    """
    assert run(text, tmp_path) == "20 30\n"


def test_where_there_are_no_terminals_a_sentence_says_so(tmp_path):
    text = """
        import resource
        resource.setrlimit(resource.RLIMIT_NOFILE, (4, 4))
        print(take_terminal(20, 30))
    """
    assert "no terminal for the script's standard input" in run(text, tmp_path)
