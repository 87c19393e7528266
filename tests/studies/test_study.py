"""A whole study, search and proof, on a virtual clock."""

import pytest
from replay import BASE, KNOBS
from test_search import rate

from hotlap.settings import Settings
from studies.samplers import NAMES


def test_a_study_finds_proves_and_quotes_the_best_settings(replay):
    session = replay(rate, budget_s=900, process_noise=0.01)
    session.searched()
    proof = session.proven()
    winner = proof.winner.settings
    assert (winner.num_workers, winner.memory_format) == (2, "channels_last")
    speedup = proof.winner.speedup(proof.arms[0])
    assert speedup.low <= 3.6 <= speedup.high
    assert speedup.precision < 0.03


@pytest.mark.parametrize("sampler", NAMES)
@pytest.mark.parametrize(("budget_s", "window_s"), [(60, 1.0), (200, 4.0)])
def test_every_sampler_keeps_the_budget_from_the_first_trial_to_the_last_round(
    replay, sampler, budget_s, window_s
):
    session = replay(rate, budget_s=budget_s, sampler=sampler, window_s=window_s)
    session.searched()
    proof = session.proven()
    assert session.budget.spent() <= budget_s
    assert proof.found_better


FAULTS = ("", "", "oom", "crash", "invalid", "diverged", "hang")


@pytest.mark.parametrize("budget_s", [60, 300, 900])
@pytest.mark.parametrize("seed", range(5))
def test_the_budget_is_kept_whatever_trials_do(replay, budget_s, seed):
    def fails(settings):
        if settings.key() == BASE.key():
            return ""
        return FAULTS[(hash(str(settings)) + seed) % len(FAULTS)]

    session = replay(rate, budget_s=budget_s, fails=fails, seed=seed)
    session.searched()
    proof = session.proven()
    assert session.budget.spent() <= budget_s
    assert not proof.found_better or not fails(proof.winner.settings)


def test_the_proof_gets_the_time_that_an_exhausted_search_leaves(replay):
    session = replay(rate, knobs={"num_workers": KNOBS["num_workers"]}, budget_s=400)
    session.searched(expert=BASE)
    assert session.budget.spent() < 100
    assert session.proven().n_rounds >= 5


def test_where_all_settings_are_equal_the_baseline_is_kept(replay, tmp_path):
    found = 0
    for seed in range(8):
        session = replay(
            lambda settings: 100.0,
            folder=tmp_path / str(seed),
            in_memory=True,
            budget_s=400,
            process_noise=0.02,
            seed=seed,
        )
        session.searched()
        found += session.proven().found_better
    assert found <= 2  # 2.5 of 100 are allowed; 3 of 8 then come once in 1,300 times


def test_when_everything_but_the_baseline_fails_the_baseline_is_kept(replay):
    session = replay(rate, budget_s=300, fails=lambda s: "crash" if s.key() != BASE.key() else "")
    session.searched()
    proof = session.proven()
    assert proof.winner.settings == BASE and not proof.found_better
    assert [arm.name for arm in proof.arms] == ["baseline"]


def test_a_base_of_the_users_own_is_the_baseline(replay):
    own = Settings(num_workers=4, optimizer_kernel="foreach")
    session = replay(rate, base=own, budget_s=300)
    session.searched(expert=own)
    assert session.proven(expert=own).arms[0].settings == own
    assert all(s.optimizer_kernel == "foreach" for s in session.runner.ran)
