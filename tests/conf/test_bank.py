"""The group `bank`, and the key by which train.py finds what tune.py has kept."""

import pytest

from conf.job_key import job_key
from conf.workload import job_of


def key(config):
    workload, args = job_of(config)
    return job_key(workload, args, config.import_path)


def test_the_bank_is_there_by_default_and_can_be_moved_or_left_out(ask):
    for primary in ("config", "train"):
        (config,) = ask("+model=resnet50", primary=primary).configs
        assert (config.bank.name, config.bank.path) == ("default", None)
    assert ask("+model=resnet50", "bank=none").configs[0].bank.name == "none"
    assert ask("+model=resnet50", "bank.path=my/bank").configs[0].bank.path == "my/bank"


@pytest.mark.parametrize(
    ("path", "says"),
    [
        ("here.txt", "here.txt is no folder"),
        ("''", "not the name of a folder"),
        (5000 * "a", "there can be no such folder"),
    ],
)
def test_a_bank_that_is_no_folder_is_a_mistake_among_the_others(ask, tmp_path, path, says):
    (tmp_path / "here.txt").write_text("")
    ran = ask("+model=resnet50", f"bank.path={path}", "budget=soon")
    assert ran.code == 2
    assert says in ran.err and "budget is 'soon'" in ran.err
    assert "bank=none" in ran.err


def test_an_unknown_bank_is_told(ask):
    ran = ask("+model=resnet50", "bank=nobe")
    assert ran.code == 2 and "bank=none" in ran.err


def test_the_full_run_is_told_which_bank(ask):
    words = ask("+model=resnet50", "bank.path=b", "budget=5m").configs[0].words
    assert words == ["+model=resnet50", "bank.path=b"]


def test_a_full_run_has_the_key_of_the_study_with_the_same_workload(ask):
    words = ("+model=resnet50", "model.batch_size=4")
    study, run = (ask(*words, primary=primary).configs[0] for primary in ("config", "train"))
    assert key(study) == key(run)
    others = [
        ("+model=resnet50",),
        ("+model=resnet18", "model.batch_size=4"),
        (*words, "device=cpu"),
        (*words, "data=resident"),
    ]
    assert key(study) not in {key(ask(*other).configs[0]) for other in others}


def test_the_same_name_in_another_project_is_another_function(tmp_path):
    for name in ("one", "two"):
        (tmp_path / name).mkdir()
        (tmp_path / name / "my_job.py").write_text("def make(width=3): ...\n")
    one, two = (job_key("my_job.make", {}, [str(tmp_path / name)]) for name in ("one", "two"))
    assert one != two
    # The current folder goes along in import_path; it says nothing where the file is known.
    assert one == job_key("my_job.make", {}, [str(tmp_path / "one"), str(tmp_path)])
