import signal

import pytest

from benchmarks.machine import UNJUDGED, Unmeasured, conclude, interruptible


@pytest.mark.parametrize(
    ("broken", "unmeasured", "code", "said"),
    [
        ([], [], 0, "claim: none"),
        (["a", "b"], [], 1, "claim: a, b"),
        ([], ["c"], UNJUDGED, "claim: none; not measured: c"),
        (["a"], ["c"], 1, "claim: a; not measured: c"),
    ],
)
def test_what_is_not_known_is_neither_kept_nor_broken(capsys, broken, unmeasured, code, said):
    assert conclude("claim", broken, unmeasured) == code
    assert capsys.readouterr().out == f"{said}\n"


@pytest.fixture
def ends(capsys):
    """The exit code of a benchmark that ends with this error, and what is on the screen."""
    before = signal.getsignal(signal.SIGINT)

    def ends(error):
        def main(argv):
            raise error

        return interruptible(main, []), capsys.readouterr().err

    yield ends
    signal.signal(signal.SIGINT, before)


def test_an_error_says_nothing_of_the_claim(ends):
    assert ends(Unmeasured("tune.py ended with code 1")) == (3, "tune.py ended with code 1\n")
    code, said = ends(KeyError("wall_s"))
    assert code == 3
    assert said.startswith("Traceback") and said.endswith("KeyError: 'wall_s'\n")
