"""The check of a whole script on a GPU, as far as a CPU can try it."""

import pytest

from benchmarks.gpu import own_loop, scripts
from benchmarks.gpu.scripts import KINDS, ScriptFailed, differs
from hotlap.interpose import Imposed
from hotlap.interpose.interposition import Interposition
from hotlap.settings import Settings

FLASH, GRAPHS = KINDS


def trained(**settings):
    interposition = Interposition(Imposed.of(settings)).install()
    try:
        return own_loop.train("cpu")
    finally:
        interposition.remove()


def test_the_script_has_the_same_losses_with_flash_attention_in_half_precision():
    plain = trained()
    assert len(plain["losses"]) == own_loop.N_EPOCHS * own_loop.N_BATCHES
    assert len({round(loss, 3) for loss in plain["losses"]}) == len(plain["losses"])
    assert differs(plain, trained(), 1e-6) == ""
    tuned = trained(**FLASH.settings)
    assert tuned != plain and differs(plain, tuned, FLASH.tolerance) == ""


def test_a_loss_that_another_step_has_written_over_is_seen():
    plain = {"losses": [1.0, 2.0, 3.0], "evaluations": [4.0]}
    fault = differs(plain, {**plain, "losses": [3.0, 3.0, 3.0]}, GRAPHS.tolerance)
    assert fault == "number 0 of the losses is 3, and 1 by itself"
    assert differs(plain, {**plain, "evaluations": [float("nan")]}, FLASH.tolerance)


def test_what_is_imposed_are_settings_that_exist():
    for kind in KINDS:
        Settings.from_dict(kind.settings)


@pytest.mark.parametrize(
    ("capability", "n_seen", "status"),
    [([9, 0], 2, "PASS"), ([7, 5], 1, "PASS"), ([6, 1], 0, "SKIP"), (None, 1, "PASS")],
)
def test_a_device_is_asked_for_what_it_can_do(tmp_path, monkeypatch, capability, n_seen, status):
    plain = {"losses": [1.0], "evaluations": [1.0], "capability": capability}
    ran = []
    monkeypatch.setattr(scripts, "_answer", lambda words, deadline: ran.append(words) or plain)
    found = scripts.to_its_end(tmp_path / "script", "cuda", 60)
    assert (found.status, len(ran)) == (status, 1 + n_seen)


def test_a_script_that_fails_or_is_not_reached_says_so(tmp_path, monkeypatch):
    monkeypatch.setattr(scripts, "ROOT", tmp_path)
    deadline = scripts.time.monotonic() + 60
    with pytest.raises(ScriptFailed, match="code 1: .*No available kernel"):
        scripts._answer(["-c", "raise RuntimeError('No available kernel')"], deadline)
    silent = "import sys; print('hotlap: amp was not in force: x', file=sys.stderr)"
    with pytest.raises(ScriptFailed, match="amp was not in force"):
        scripts._answer(["-c", silent], deadline)
    answers = "print('a line'); print('{\"losses\": [1.0]}')"
    assert scripts._answer(["-c", answers], deadline) == {"losses": [1.0]}
