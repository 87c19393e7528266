"""What a study leaves in its frozen files, session after session."""

import math
import random

import pytest

from hotlap import frozen
from hotlap.measurement import Block, Measurement
from hotlap.settings import Settings
from runners.protocol import Run
from studies import Arm, Confirmed, freeze, proven_before
from studies.arm import log_interval, shared_error
from studies.freezing import decided, provenance_of
from studies.gate import UNKNOWN
from studies.protocols import Trial

BASE, FAST, OTHER = Settings(), Settings(num_workers=4), Settings(num_workers=2)


def arm(name, settings, rates, reasons=(), n_compared=2, beaten=False, ended_s=None):
    runs = [Run("ok", Measurement((Block(10, rate, 1.0),))) for rate in rates]
    ends = ended_s or [0.0] * len(runs)
    trials = {
        i: Trial(i, "confirm", settings, run, rate, ended_s=end)
        for i, (run, rate, end) in enumerate(zip(runs, rates, ends, strict=True))
    }
    return Arm(name, settings, trials, n_compared, list(reasons), beaten=beaten)


def session(*arms, n_rounds=5, failed=()):
    """What its rounds found, beside a baseline of some 100 samples/s."""
    baseline = arm("baseline", BASE, [100 + i % 2 for i in range(n_rounds)])
    return Confirmed([baseline, *arms], n_rounds, failed=failed)


def rates(value, n_rounds=5):
    return [value + i % 3 for i in range(n_rounds)]


def proof_in(path):
    """The settings that the file keeps as proven."""
    notes = []
    old = proven_before(path, notes.append)
    assert not notes
    return old and old.settings


@pytest.fixture
def paths(tmp_path):
    return [tmp_path / "frozen.yaml", tmp_path / "mine.yaml"]


@pytest.fixture
def proven(paths):
    """The study's own file holds what its first session proved: FAST."""
    first = freeze(paths[:1], "digits", session(arm("trial 7", FAST, rates(200))), {})
    assert first.path == paths[0] and not first.kept and not first.earlier
    return proven_before(paths[0], pytest.fail)


def test_every_file_gets_the_winner_and_the_last_one_is_named(paths):
    done = freeze(paths, "digits", session(arm("trial 7", FAST, rates(200))), {"study": "a"})
    assert done.path == paths[1]
    for path in paths:
        assert frozen.load(path) == FAST
        assert frozen.load_frozen(path).provenance["study"] == "a"


def test_where_nothing_is_proven_the_baseline_is_frozen(paths):
    done = freeze(paths, "digits", session(arm("trial 7", FAST, [90, 120, 80, 130, 100])), {})
    assert frozen.load(paths[1]) == BASE and not proof_in(paths[0]) and not done.earlier


@pytest.mark.parametrize(
    "second",
    [
        session(n_rounds=2),
        session(arm("trial 9", OTHER, rates(99))),
        session(arm("trial 7", FAST, rates(99, n_rounds=2)), n_rounds=2),
        session(arm("trial 7", FAST, [90, 320, 95, 300, 110])),
        session(arm("trial 7", FAST, rates(200), [f"{UNKNOWN}there was no time left"])),
        session(failed=(arm("trial 7", FAST, ()),)),
    ],
    ids=[
        "no time",
        "not among the arms",
        "too few rounds",
        "the promise may hold",
        "numerics without time",
        "no round in time",
    ],
)
def test_what_was_proven_before_stays_where_a_session_says_too_little_of_it(paths, proven, second):
    done = freeze(paths, "digits", second, {}, proven)
    assert done.kept and done.path == paths[1]
    assert "What an earlier session proved, 2.0" in done.earlier and "stays frozen" in done.earlier
    for path in paths:
        assert frozen.load(path) == proof_in(path) == FAST


@pytest.mark.parametrize(
    ("second", "why"),
    [
        (session(arm("trial 7", FAST, rates(99))), "5 rounds measured 0.9"),
        (session(arm("trial 7", FAST, rates(200), ["it diverged"])), "it diverged"),
        (session(failed=(arm("trial 7", FAST, (), ["oom in round 1"]),)), "oom in round 1"),
        (session(arm("trial 7", FAST, rates(50, n_rounds=2), beaten=True)), "2 rounds measured"),
    ],
    ids=["no gain", "refused", "always fails", "so slow that it was left out"],
)
def test_what_was_proven_before_goes_when_a_session_disproves_or_refuses_it(
    paths, proven, second, why
):
    done = freeze(paths, "digits", second, {}, proven)
    assert not done.kept and why in done.earlier and "is frozen no longer" in done.earlier
    for path in paths:
        assert frozen.load(path) == BASE and not proof_in(path)


def test_the_rate_that_is_promised_for_the_best_of_equals_holds_in_95_of_100_studies():
    """Four arms of 150 samples/s in truth, on a machine whose processes differ by 5 %."""
    chance, missed = random.Random(0), 0

    def measured(name, settings, value):
        seen = [value * math.exp(chance.gauss(0, 0.05)) for _ in range(12)]
        return arm(name, settings, seen, n_compared=4)

    for _ in range(500):
        baseline = measured("baseline", BASE, 100)
        others = [measured(f"trial {i}", Settings(num_workers=i), 150) for i in range(1, 5)]
        proof = Confirmed([baseline, *others], 12)
        said = provenance_of("digits", proof, {})
        low, high = said["samples_per_s_ci95"]
        missed += not low <= 150 <= high
        assert proof.found_better
        assert proof.winner.rate().high == pytest.approx(high)  # as the reports show it
    assert missed <= 0.05 * 500


def test_equal_settings_hold_no_speedup_however_often_a_study_goes_on():
    """What one session finds by luck goes when later ones' rounds, with the first's, show none."""
    chance, n_frozen = random.Random(0), 0

    def measured(name, settings):
        seen = [100 * math.exp(chance.gauss(0, 0.03)) for _ in range(8)]
        return arm(name, settings, seen, n_compared=1)

    for _ in range(200):
        old = None
        for _ in range(10):
            proof = Confirmed([measured("baseline", BASE), measured("trial 7", FAST)], 8)
            settings, said, _, _ = decided("digits", proof, {}, old)
            old = frozen.Frozen(settings, said) if said["speedup_ci95"] else None
        n_frozen += old is not None
    assert n_frozen <= 0.05 * 200


def test_what_stays_by_the_rounds_of_both_sessions_is_written_with_their_figure(paths):
    first = session(arm("trial 7", FAST, [103, 106, 104, 107, 105]))
    freeze(paths[:1], "digits", first, {})
    old = proven_before(paths[0], pytest.fail)
    second = session(arm("trial 7", FAST, [97, 108, 99, 112, 101]))
    assert not second.found_better
    done = freeze(paths, "digits", second, {}, old)
    assert done.kept and "stays frozen as 1.04x [1.00, 1.07] by the rounds of both" in done.earlier
    said = frozen.load_frozen(paths[0]).provenance
    assert len(said["speedup_ratios"]) == 10
    low, high = said["speedup_ci95"]
    assert 1 < low < said["speedup"] < old.provenance["speedup"] < high
    third = session(arm("trial 7", FAST, [99, 104, 98, 103, 97]))
    done = freeze(paths, "digits", third, {}, proven_before(paths[0], pytest.fail))
    assert not done.kept and "with those before" in done.earlier
    assert frozen.load(paths[0]) == BASE


def drifting(name, settings, place, n_compared):
    """Five rounds in one order on a machine that loses 3 % from trial to trial."""
    at = [2 * r + place for r in range(5)]
    seen = [100 * math.exp(-0.03 * i) for i in at]
    return arm(name, settings, seen, n_compared=n_compared, ended_s=[5.0 * i for i in at])


def test_the_figure_of_both_sessions_holds_the_drift_of_one_and_the_pick_of_the_other(paths):
    first = session(arm("trial 7", FAST, [103, 106, 104, 107, 105], n_compared=4))
    freeze(paths[:1], "digits", first, {})
    old = proven_before(paths[0], pytest.fail)
    assert old.provenance["speedup_n_compared"] == 4
    baseline, ours = drifting("baseline", BASE, 1, 1), drifting("trial 7", FAST, 0, 1)
    second = Confirmed([baseline, ours], 5)
    assert ours.speedup(baseline).high > old.provenance["speedup_ci95"][0]
    assert freeze(paths, "digits", second, {}, old).kept
    said = frozen.load_frozen(paths[0]).provenance
    low, high = said["speedup_ci95"]
    alone = log_interval(said["speedup_ratios"], shared_error(4))
    assert said["speedup_n_compared"] == 4 and said["speedup_drift"] == pytest.approx(0.015)
    assert [low, high] == pytest.approx([alone.low * math.exp(-0.015), alone.high], abs=1e-4)
    assert 1 < low < said["speedup"] * math.exp(-0.015) < alone.low


@pytest.mark.parametrize(
    "spoilt",
    [
        {"speedup_n_compared": "all"},
        {"speedup_n_compared": -3},
        {"speedup_drift": [1]},
        {"speedup_n_compared": None, "speedup_drift": None},
    ],
)
def test_what_a_person_has_spoilt_of_its_doubt_ends_no_study(paths, proven, spoilt):
    proven.provenance.update(spoilt)
    second = session(arm("trial 7", FAST, [90, 320, 95, 300, 110]))
    assert freeze(paths, "digits", second, {}, proven)


@pytest.mark.parametrize("ratios", [None, "many", [1.5, None], [{}], [-1, 0]])
def test_ratios_that_a_person_has_spoilt_end_no_study(paths, proven, ratios):
    proven.provenance["speedup_ratios"] = ratios
    assert freeze(paths, "digits", session(arm("trial 7", FAST, rates(200), ["no"])), {}, proven)


def test_a_new_winner_takes_the_place_of_an_old_one(paths, proven):
    done = freeze(paths, "digits", session(arm("trial 9", OTHER, rates(300))), {}, proven)
    assert not done.kept and not done.earlier
    assert frozen.load(paths[0]) == OTHER


def test_a_winner_that_is_not_better_for_sure_takes_no_place(paths, proven):
    """The earlier settings may stand in no round of this session."""
    done = freeze(paths, "digits", session(arm("trial 9", OTHER, rates(150))), {}, proven)
    assert done.kept and "proved, trial 9, is not better for sure" in done.earlier
    for path in paths:
        assert frozen.load(path) == proof_in(path) == FAST


def test_in_the_same_rounds_the_better_one_is_frozen(paths, proven):
    behind, ahead = arm("trial 7", FAST, rates(200)), arm("trial 9", OTHER, rates(230))
    done = freeze(paths, "digits", session(behind, ahead), {}, proven)
    assert not done.kept and not done.earlier and frozen.load(paths[0]) == OTHER
    proven = proven_before(paths[0], pytest.fail)
    first, second = [233, 238, 231, 236, 234], [236, 228, 238, 230, 231]
    by_chance = session(arm("trial 7", FAST, first), arm("trial 9", OTHER, second))
    assert by_chance.winner.settings == FAST
    assert freeze(paths, "digits", by_chance, {}, proven).kept
    assert frozen.load(paths[0]) == OTHER


def test_settings_that_are_proven_again_bear_the_figure_of_both_sessions(paths):
    freeze(paths[:1], "digits", session(arm("trial 7", FAST, rates(105, 12)), n_rounds=12), {})
    old = proven_before(paths[0], pytest.fail)
    second = session(arm("trial 9", FAST, rates(107)))
    assert second.found_better
    done = freeze(paths, "digits", second, {"study": "b"}, old)
    assert not done.kept and "is proven again, and frozen as 1.0" in done.earlier
    said = frozen.load_frozen(paths[1]).provenance
    assert len(said["speedup_ratios"]) == 17
    latest = second.winner.speedup(second.baseline).value
    low, high = said["speedup_ci95"]
    assert old.provenance["speedup"] < said["speedup"] < latest and 1 < low < high
    assert said["samples_per_s"] == pytest.approx(second.winner.throughput().value)
    assert said["trial"] == "trial 9" and said["study"] == "b"


def test_a_lucky_figure_of_few_rounds_takes_the_place_of_no_whole_proof(paths):
    freeze(paths[:1], "digits", session(arm("trial 7", FAST, rates(105, 12)), n_rounds=12), {})
    old = proven_before(paths[0], pytest.fail)
    second = session(arm("trial 7", FAST, [130, 131, 130]), n_rounds=3)
    assert second.found_better
    done = freeze(paths, "digits", second, {}, old)
    assert done.kept and "fewer rounds than say much" in done.earlier
    assert frozen.load_frozen(paths[1]).provenance == old.provenance


def test_settings_that_bring_less_than_was_promised_bear_what_they_bring_now(paths, proven):
    again = session(arm("trial 7", FAST, rates(180)))
    assert not freeze(paths, "digits", again, {}, proven).kept
    assert frozen.load_frozen(paths[0]).provenance["speedup"] == pytest.approx(1.8, abs=0.02)


def test_a_file_that_is_missing_or_without_a_speedup_proves_nothing(tmp_path):
    assert proof_in(tmp_path / "frozen.yaml") is None
    frozen.dump(tmp_path / "frozen.yaml", FAST, {})
    assert proof_in(tmp_path / "frozen.yaml") is None
    frozen.dump(tmp_path / "frozen.yaml", FAST, {"speedup": 1.0, "speedup_ci95": None})
    assert proof_in(tmp_path / "frozen.yaml") is None


@pytest.mark.parametrize(
    ("line", "why"),
    [
        ("provenance: {speedup: 2.0, speedup_ci95: [much, more]}", "speedup_ci95[0] is 'much'"),
        ("provenance: {speedup: 2.0, speedup_ci95: [1.9]}", "speedup_ci95 has to hold two numbers"),
        ("provenance: {speedup: fast, speedup_ci95: [1.9, 2.1]}", "speedup is 'fast'"),
        ("provenance: {speedup: 2.0, speedup_ci95: [null, 2.37]}", "speedup_ci95[0] is None"),
        ("provenance: {speedup: 2.0, speedup_ci95: [1.4, null]}", "speedup_ci95[1] is None"),
        ("provenance: {speedup: 2.0, speedup_ci95: [1.4, .nan]}", "speedup_ci95[1] is nan"),
        ("provenance: {speedup: null, speedup_ci95: [1.9, 2.1]}", "without provenance.speedup"),
        ("provenance: {speedup_ci95: [1.9, 2.1]}", "without provenance.speedup"),
        ("num_workrs: 4", "unknown key 'num_workrs'"),
    ],
)
def test_a_file_that_was_spoilt_by_hand_proves_nothing_and_is_told_at_once(tmp_path, line, why):
    path, notes = tmp_path / "frozen.yaml", []
    path.write_text(f"settings: {{num_workers: 4}}\n{line}\n")
    assert proven_before(path, notes.append) is None
    (note,) = notes
    assert why in note and "counts as not proven" in note and "\n" not in note
    done = freeze([path], "digits", session(n_rounds=2), {})
    assert not done.kept and frozen.load(path) == BASE
