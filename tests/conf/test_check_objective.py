"""The objective and the full run's length, as typed."""


def test_run_time_takes_the_full_runs_length(ask):
    ran = ask("+model=resnet50", "objective=run_time", "run.epochs=90", "run.n_samples=1281167")
    assert ran.code == 0, ran.err
    (config,) = ran.configs
    assert (config.objective.name, config.objective.direction) == ("run_time", "minimize")
    assert (config.run.epochs, config.run.n_samples) == (90.0, 1281167)


def test_run_time_without_epochs_is_a_mistake_with_its_cure(ask):
    ran = ask("+model=resnet50", "objective=run_time")
    assert ran.code == 2 and ran.err.startswith("1 mistake ")
    assert "does not know how long the full run is" in ran.err
    assert "objective/run_time.yaml, line 3" in ran.err
    assert "type:  run.epochs=90" in ran.err


def test_throughput_may_know_the_full_run_and_need_not(ask):
    assert ask("+model=resnet50").configs[0].run.epochs is None
    assert ask("+model=resnet50", "run.epochs=0.5").configs[0].run.epochs == 0.5


def test_an_objective_goes_one_way_only(ask):
    ran = ask(
        "+model=resnet50", "objective=run_time", "run.epochs=1", "objective.direction=maximize"
    )
    assert ran.code == 2
    assert "the objective run_time is to be maximized" in ran.err
    assert "type:  objective.direction=minimize" in ran.err


def test_the_full_run_is_told_the_epochs_that_the_study_was_told(ask):
    run = ("run.epochs=90", "run.n_samples=1600")
    assert ask("+model=resnet50", *run).configs[0].words == ["+model=resnet50", "epochs=90"]
    assert ask("+model=resnet50", "run.epochs=0.5").configs[0].words == ["+model=resnet50"]
