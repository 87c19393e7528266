"""An error is shown before anybody waits for the tracking, and once."""

import pytest

from conf.told import tell
from hotlap.errors import NoRoom, StudyFailed
from reports import NoTracking, run_that_ends, study_that_ends


class Slow(NoTracking):
    """Notes when it is told."""

    def __init__(self, order):
        self._order = order

    def study_ended(self, record, artifacts):
        self._order.append(record["state"])

    def run_ended(self, record, artifacts):
        self._order.append(record["state"])

    def close(self):
        self._order.append("closed")


ENDS = [
    (StudyFailed("no such file"), "failed", "no such file"),
    (KeyboardInterrupt(), "interrupted", "to go on: resume=there"),
    (OSError(28, "No space left on device"), "failed", "Make room"),
]


@pytest.mark.parametrize("full_run", [False, True])
@pytest.mark.parametrize(("error", "state", "words"), ENDS, ids=["fails", "ctrl-c", "full disk"])
def test_the_user_hears_first(full_run, error, state, words):
    order, told = [], []

    def hear(ended):
        told.append(ended)
        order.append("told")

    ends = study_that_ends(Slow(order), "s", "resume=there", hear)
    if full_run:
        ends = run_that_ends(Slow(order), lambda: "to go on: resume=there", hear)
    with pytest.raises((StudyFailed, KeyboardInterrupt, NoRoom)) as caught, ends:
        raise error
    assert order == ["told", state, "closed"]
    assert told == [caught.value] and words in str(caught.value)


def test_nothing_is_told_of_a_good_end():
    order = []
    with study_that_ends(Slow(order), "s", "resume=there", order.append):
        order.append("within")
    assert order == ["within", "closed"]


def test_an_error_is_told_once(capsys):
    error = StudyFailed("the workload fails")
    tell(error)
    tell(error)
    assert capsys.readouterr().err == "the workload fails\n"
    tell(KeyboardInterrupt("to go on: x"))
    assert capsys.readouterr().err == "interrupted; to go on: x\n"


def test_an_error_of_another_kind_is_told_with_its_traceback(capsys):
    try:
        raise ZeroDivisionError("by nothing")
    except ZeroDivisionError as error:
        tell(error)
    told = capsys.readouterr().err
    assert told.startswith("Traceback (most recent call last)") and "by nothing" in told
