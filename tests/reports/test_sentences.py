import dataclasses

import pytest

from hotlap.measurement import Ratio
from hotlap.settings import Settings
from reports.sentences import sentences


def test_a_speedup_that_may_be_none_is_said_to_be_none(result):
    winner = dataclasses.replace(result.winner, speedup=Ratio(1.04, 0.98, 1.09))
    unproven = dataclasses.replace(result, winner=winner)
    assert sentences(unproven)[0] == (
        "Nothing is proven to be better than the default, so the default is frozen. What came "
        "closest measured 1.04x, 95 % interval [0.98, 1.09]."
    )
    slower = dataclasses.replace(result.winner, speedup=Ratio(0.97, 0.9, 1.05))
    assert sentences(dataclasses.replace(result, winner=slower))[0] == (
        "Nothing better than the default was found, so the default is frozen."
    )


def test_what_an_earlier_session_proved_is_told_where_it_stays_and_where_it_goes(result):
    winner = dataclasses.replace(result.winner, speedup=Ratio(0.97, 0.9, 1.05))
    again = dataclasses.replace(result, winner=winner)
    stays = "What an earlier session proved, 1.67x [1.58, 1.77], stays frozen: no time."
    kept = sentences(dataclasses.replace(again, kept=True, earlier=stays))
    assert kept[:2] == ["Nothing better than the default was found in this session.", stays]
    goes = "What an earlier session proved, 1.67x [1.58, 1.77], is frozen no longer: it diverged."
    gone = sentences(dataclasses.replace(again, earlier=goes))
    assert gone[0].endswith("so the default is frozen.") and gone[1] == goes


def test_a_winner_that_does_not_replace_an_earlier_one_is_told_with_that(result):
    stays = "What an earlier session proved, 1.97x [1.88, 2.07], stays frozen: not better."
    kept = sentences(dataclasses.replace(result, kept=True, earlier=stays))
    assert kept[0] == sentences(result)[0] and kept[1] == stays


def test_settings_that_were_proven_together_only_are_named_beside_the_speedup(result):
    said = sentences(dataclasses.replace(result, together=("pin_memory", "num_workers")))
    assert said[0] == sentences(result)[0]
    assert (
        said[1].startswith("Proven with the others only") and "pin_memory, num_workers." in said[1]
    )
    assert not any("with the others only" in text for text in sentences(result))


def test_where_nothing_else_was_measured_nothing_is_said_to_be_worse(result):
    baseline = dataclasses.replace(result.winner, speedup=None)
    alone = dataclasses.replace(result, winner=baseline, n_outcomes={"ok": 1, "timeout": 2})
    late = dataclasses.replace(alone, uncompared="there was no time to measure anything else")
    assert sentences(late)[0] == (
        "No round could be compared, so the default is frozen: there was no time to measure "
        "anything else."
    )
    one = dataclasses.replace(alone, n_outcomes={"ok": 1})
    assert sentences(one)[0] == "Nothing was tried but the default, so the default is frozen."
    two = dataclasses.replace(alone, n_outcomes={"ok": 2})
    assert sentences(two)[0].startswith("Nothing better than the default was found")


def test_where_something_was_refused_it_is_said_that_it_may_not_be_frozen(full_result):
    def told(speedup, **values):
        winner = dataclasses.replace(full_result.winner, speedup=speedup)
        return sentences(dataclasses.replace(full_result, winner=winner, **values))[0]

    assert full_result.refused
    none = "Nothing better than the default may be frozen, so the default is frozen."
    assert told(None) == told(None, n_outcomes={"ok": 1}) == none
    assert told(Ratio(0.97, 0.9, 1.05)) == none
    assert told(Ratio(1.04, 0.98, 1.09)).startswith(
        "Nothing that may be frozen is proven to be better than the default, so the default is "
        "frozen. What came closest measured 1.04x"
    )
    kept = told(None, kept=True)
    assert kept == "Nothing better than the default may be frozen in this session."


def test_where_somebody_had_no_time_in_the_proof_nothing_is_said_not_to_have_been_found(result):
    winner = dataclasses.replace(result.winner, speedup=Ratio(0.97, 0.9, 1.05))
    slower = dataclasses.replace(result, winner=winner)
    unproven = "Nothing is proven to be better than the default, so the default is frozen."
    told = sentences(dataclasses.replace(slower, late=("Trial 7 had no time in the proof.",)))
    assert told[:2] == [unproven, "Trial 7 had no time in the proof."]
    expert = "The expert's settings had no time in the proof."
    told = sentences(dataclasses.replace(slower, expert=None, no_expert=expert))
    assert told[:2] == [unproven, expert]


def test_what_came_closest_and_may_not_be_frozen_is_told_with_the_reason(result):
    winner = dataclasses.replace(result.winner, barred="its loss is nan")
    barred = dataclasses.replace(result, winner=winner)
    assert sentences(barred)[0] == (
        "Nothing better than the default may be frozen, so the default is frozen. What measured "
        "2.02x was refused: its loss is nan."
    )
    kept = sentences(dataclasses.replace(barred, kept=True))[0]
    assert kept.startswith("Nothing better than the default may be frozen in this session. What")


def test_a_baseline_of_ones_own_is_not_called_the_default(result):
    baseline = dataclasses.replace(result.baseline, settings=Settings(num_workers=1))
    own = dataclasses.replace(result, baseline=baseline)
    assert "as fast as its own baseline" in sentences(own)[0]


def test_a_script_with_settings_that_were_asked_for_is_not_called_the_script_by_itself(result):
    """Its own settings may be PyTorch's defaults, or others."""
    script = dataclasses.replace(result, script="train.py --lr 0.1")
    assert "2.02x as fast as its own baseline (" in sentences(script)[0]
    alone = dataclasses.replace(script, by_itself=True)
    assert "2.02x as fast as the script by itself (" in sentences(alone)[0]


def test_a_costly_winner_is_said_to_pay_after_a_while(result):
    # 41.2 s more than the baseline; each second of training saves 1.02 s: 40 s.
    assert "has paid for them after 40.4 s of training" in " ".join(sentences(result))


@pytest.mark.parametrize(("epochs", "words"), [(90, "long enough"), (0.01, "too short")])
def test_a_run_of_known_length_is_told_whether_it_is_long_enough(full_result, epochs, words):
    run = dataclasses.replace(full_result, epochs=epochs)
    assert f"a run of {epochs:g} epochs is {words}" in " ".join(sentences(run))


def test_a_winner_that_costs_nothing_is_not_said_to_pay_back(result):
    cheap = dataclasses.replace(result.winner, compile_s=0.9)
    assert "paid" not in " ".join(sentences(dataclasses.replace(result, winner=cheap)))


def test_the_searchs_own_figure_stands_beside_the_proven_one(full_result):
    said = " ".join(sentences(full_result))
    assert "had measured 2.31x; the best of 31 noisy trials looks better than it is, so" in said
    less = " ".join(sentences(dataclasses.replace(full_result, searched=1.95)))
    assert "had measured 1.95x." in less and "noisy" not in less
    part = " ".join(sentences(dataclasses.replace(full_result, searched_of="trial 7")))
    assert "had measured 2.31x for trial 7, of which this is a part; the best of 31" in part
    two = " ".join(sentences(dataclasses.replace(full_result, n_outcomes={"ok": 2})))
    assert "had measured 2.31x; a single trial may be a lucky one, so only the fresh" in two


def test_what_only_the_search_saw_is_told_where_nothing_was_proven(full_result):
    winner = dataclasses.replace(full_result.winner, speedup=Ratio(1.01, 0.97, 1.05))
    said = sentences(dataclasses.replace(full_result, winner=winner, searched=1.12))
    assert said[0].startswith("Nothing that may be frozen is proven")
    assert "had measured 1.12x; the best of 31 noisy trials" in said[1]


def test_the_noise_and_the_diagnosis_are_said_as_they_are(full_result):
    said = sentences(full_result)
    assert full_result.noise in said
    assert f"Baseline: {full_result.diagnosis['baseline']}" in said
    assert f"Winner: {full_result.diagnosis['winner']}" in said


def test_for_the_run_time_the_headline_is_the_run(run_time_result):
    said = sentences(run_time_result)
    assert said[0] == (
        "A run of 90 epochs takes 3:12:05 [3:10:00, 3:14:10] with the winner and 6:24:10 "
        "[6:20:00, 6:28:20] with PyTorch's defaults: it is done 2.02x as fast "
        "(95 % interval [1.98, 2.07])."
    )
    assert "paid" not in " ".join(said)


def test_outcomes_are_counted(result):
    many = "Settings tried before the proof: 31, the baseline among them (21 ok, 9 pruned, 1 oom); "
    assert f"{many}10:12 in this session." in sentences(result)
    one = dataclasses.replace(result, n_outcomes={"ok": 1})
    assert "Settings tried before the proof: 1 (1 ok); 10:12 in this session." in sentences(one)


def test_the_bank_is_told_in_one_sentence_and_not_at_all_without_one(result):
    counts = {"added": 0, "updated": 1, "hit": 0, "kept": 0, "unsatisfied": 0}
    told = sentences(dataclasses.replace(result, bank=counts))
    assert told[-1] == "The bank: these settings take the place of its own."
    assert not any("bank" in sentence for sentence in sentences(result))
