import random

import optuna
import pytest
from optuna.trial import FrozenTrial, TrialState, create_trial

from studies.noise import Noise, Repeat
from studies.racing import RacingPruner
from studies.samplers import CONSTRAINTS, SETS_CONSTRAINTS

N_BLOCKS = 16


def blocks(rng: random.Random, mean: float, noise: float, n: int = N_BLOCKS) -> list[float]:
    return [mean * (1 + rng.gauss(0, noise)) for _ in range(n)]


def ended(
    rates: list[float], value: float | None = None, violation: float | None = None
) -> FrozenTrial:
    mean = sum(rates) / len(rates) if value is None else value
    limits = {} if violation is None else {CONSTRAINTS: [-0.5, violation]}
    return create_trial(value=mean, intermediate_values=dict(enumerate(rates)), user_attrs=limits)


def running(rates: list[float]) -> FrozenTrial:
    return create_trial(state=TrialState.RUNNING, intermediate_values=dict(enumerate(rates)))


def study_of(*trials: FrozenTrial, direction: str = "maximize") -> optuna.Study:
    optuna.logging.set_verbosity(optuna.logging.WARNING)
    study = optuna.create_study(direction=direction)
    study.add_trials(trials)
    return study


def pruned_at(pruner: RacingPruner, study: optuna.Study, rates: list[float]) -> int | None:
    """Blocks after which the trial is stopped, None if it never is."""
    counts = range(1, len(rates) + 1)
    return next((n for n in counts if pruner.prune(study, running(rates[:n]))), None)


@pytest.mark.parametrize("direction", ["maximize", "minimize"])
def test_a_clearly_worse_trial_is_stopped_after_two_to_four_blocks(direction: str) -> None:
    worse = 70.0 if direction == "maximize" else 130.0
    for seed in range(100):
        rng = random.Random(seed)
        study = study_of(ended(blocks(rng, 100, 0.02)), direction=direction)
        n = pruned_at(RacingPruner(), study, blocks(rng, worse, 0.02))
        assert n is not None and 2 <= n <= 4


@pytest.mark.parametrize("direction", ["maximize", "minimize"])
def test_a_clearly_better_trial_is_never_stopped(direction: str) -> None:
    better = 130.0 if direction == "maximize" else 70.0
    for seed in range(50):
        rng = random.Random(seed)
        study = study_of(ended(blocks(rng, 100, 0.02)), direction=direction)
        assert pruned_at(RacingPruner(), study, blocks(rng, better, 0.02)) is None


@pytest.mark.parametrize("n_rivals", [1, 20])
@pytest.mark.parametrize("error", [0.05, 0.2])
def test_an_equal_trial_is_stopped_with_at_most_the_stated_probability(
    n_rivals: int, error: float
) -> None:
    n = 400
    wrong = 0
    for seed in range(n):
        rng = random.Random(seed)
        study = study_of(*(ended(blocks(rng, 100, 0.05)) for _ in range(n_rivals)))
        wrong += pruned_at(RacingPruner(error), study, blocks(rng, 100, 0.05)) is not None
    assert wrong / n <= error


def test_more_blocks_tell_smaller_differences() -> None:
    rng = random.Random(0)
    study = study_of(ended(blocks(rng, 100, 0.01)))
    assert pruned_at(RacingPruner(), study, blocks(rng, 97, 0.01)) in range(4, N_BLOCKS + 1)


def test_noise_between_processes_makes_it_careful() -> None:
    rng = random.Random(0)
    study, rates = study_of(ended(blocks(rng, 100, 0.01))), blocks(rng, 95, 0.01)
    assert pruned_at(RacingPruner(), study, rates) is not None
    assert pruned_at(RacingPruner(process_noise=0.05), study, rates) is None


@pytest.mark.parametrize(
    ("n_runs", "spread"),
    [(3, 0.05), (4, 0.05), (8, 0.05), (1, 0.02), (1, 0.1), (1, 0.2), (2, 0.1), (2, 0.2)],
)
def test_noise_known_from_few_runs_stops_no_more_equal_trials_than_stated(
    n_runs: int, spread: float
) -> None:
    """Below three runs nothing is known, and machines differ: 9 to 20 % have been recorded."""
    n, wrong = 400, 0
    for seed in range(n):
        rng = random.Random(seed)

        def of_process() -> float:
            return 100 * (1 + rng.gauss(0, spread))  # noqa: B023  (called within the round)

        runs = [(20.0 * i, of_process()) for i in range(n_runs)]
        noise = Noise.of([Repeat(t, rate, rate) for t, rate in runs]).between_processes
        study = study_of(*(ended(blocks(rng, of_process(), 0.01)) for _ in range(20)))
        pruner = RacingPruner(0.05, 2, *noise)
        wrong += pruned_at(pruner, study, blocks(rng, of_process(), 0.01)) is not None
    assert wrong / n <= 0.05


@pytest.mark.parametrize("direction", ["maximize", "minimize"])
def test_a_rival_is_no_better_than_its_value_though_its_blocks_are(direction: str) -> None:
    """Its blocks used batches that the loader had made before; its value knows that."""
    blocks_, value, mine = (100.0, 60.0, 70.0) if direction == "maximize" else (60.0, 100.0, 90.0)
    rng = random.Random(0)
    rival = ended(blocks(rng, blocks_, 0.01), value)
    rates = blocks(rng, mine, 0.01)
    assert pruned_at(RacingPruner(), study_of(rival, direction=direction), rates) is None
    uncorrected = ended(list(rival.intermediate_values.values()))
    assert pruned_at(RacingPruner(), study_of(uncorrected, direction=direction), rates) is not None


@pytest.mark.parametrize("direction", ["maximize", "minimize"])
def test_a_trial_over_a_limit_is_nobodys_rival(direction: str) -> None:
    """It is the fastest of all and cannot win; what is best within the limits has to be found."""
    forbidden, best, behind = 160.0, 100.0, 60.0
    if direction == "minimize":
        forbidden, behind = behind, forbidden
    rng = random.Random(0)
    over = ended(blocks(rng, forbidden, 0.01), violation=0.05)
    equal, worse = blocks(rng, best, 0.01), blocks(rng, behind, 0.01)
    pruner = RacingPruner()
    assert pruned_at(pruner, study_of(over, direction=direction), equal) is None
    allowed = ended(blocks(rng, best, 0.01), violation=-0.05)
    study = study_of(over, allowed, direction=direction)
    assert pruned_at(pruner, study, equal) is None
    assert pruned_at(pruner, study, worse) is not None
    # Within the limits the same trial stops what it beats.
    within = ended(list(over.intermediate_values.values()), violation=0.0)
    assert pruned_at(pruner, study_of(within, direction=direction), equal) is not None


@pytest.mark.skipif(not SETS_CONSTRAINTS, reason="before Optuna 5 no trial has limits of its own")
def test_a_limit_that_optuna_was_told_counts_too() -> None:
    rng = random.Random(0)
    over = ended(blocks(rng, 160.0, 0.01))
    over.set_constraint("memory", 0.05)
    assert pruned_at(RacingPruner(), study_of(over), blocks(rng, 100.0, 0.01)) is None


def test_one_spoilt_block_stops_nobody() -> None:
    rng = random.Random(0)
    study, rates = study_of(ended(blocks(rng, 100, 0.01))), blocks(rng, 100, 0.01)
    rates[2] = 10.0
    assert pruned_at(RacingPruner(), study, rates) is None


def test_nobody_is_stopped_without_a_rival_or_before_the_least_blocks() -> None:
    slow = [10.0] * 5
    assert pruned_at(RacingPruner(), study_of(), slow) is None
    best = ended([100.0, 100.1, 100.2])
    failed = create_trial(state=TrialState.FAIL)
    assert pruned_at(RacingPruner(min_blocks=4), study_of(best, failed), slow) is None
    assert pruned_at(RacingPruner(min_blocks=3), study_of(best, failed), slow) == 3


def test_a_repeat_without_blocks_does_not_hide_the_best() -> None:
    study = study_of(ended([100.0, 100.1, 100.2]), create_trial(value=100.1))
    assert pruned_at(RacingPruner(), study, [10.0, 10.1, 10.0]) is not None


def test_it_works_in_an_ordinary_optuna_study() -> None:
    rng = random.Random(0)
    study = optuna.create_study(direction="maximize", pruner=RacingPruner())

    def objective(trial: optuna.Trial) -> float:
        rates = blocks(rng, 100 if trial.number == 0 else 50, 0.01)
        for step, rate in enumerate(rates):
            trial.report(rate, step)
            if trial.should_prune():
                raise optuna.TrialPruned
        return sum(rates) / len(rates)

    study.optimize(objective, n_trials=3)
    assert [t.state.name for t in study.trials] == ["COMPLETE", "PRUNED", "PRUNED"]


@pytest.mark.parametrize("failed", [[0.0] * 6, [-1.0, 1.0] * 3])
def test_trials_that_tell_of_no_rate_are_told_from_one_that_works(failed: list[float]) -> None:
    study = optuna.create_study(direction="maximize", pruner=RacingPruner())

    def objective(trial: optuna.Trial) -> float:
        rates = failed if trial.number < 2 else [100.0, 101.0, 99.0, 100.0, 101.0, 99.0]
        for step, rate in enumerate(rates):
            trial.report(rate, step)
            assert not trial.should_prune()
        return sum(rates) / len(rates)

    study.optimize(objective, n_trials=3)
    assert study.best_trial.number == 2


@pytest.mark.parametrize(
    "wrong", [{"error": 0}, {"min_blocks": 1}, {"process_noise": -0.1}, {"noise_degrees": 0}]
)
def test_arguments_out_of_range_are_refused(wrong: dict[str, float]) -> None:
    with pytest.raises(ValueError, match=next(iter(wrong))):
        RacingPruner(**wrong)  # type: ignore[arg-type]
