"""Beside +model= a full run goes on only with the workload that it began with."""

import pytest

BEGAN = ("+model=gpt_small", "model.batch_size=4", "data.n_bytes=5000", "seed=3")


@pytest.fixture
def folder(ask, tmp_path):
    """The folder of a full run, as train.py writes it."""
    ran = ask(*BEGAN, "epochs=9", primary="train")
    assert ran.code == 0, ran.err
    folder = tmp_path / "full-1"
    folder.mkdir()
    (folder / "config.yaml").write_text(ran.texts[0])
    (folder / "checkpoint.pt").touch()
    return folder


def test_words_that_are_as_they_were_may_be_typed_again_and_the_others_may_change(ask, folder):
    others = ("epochs=20", "device=cpu", "bank=none", "settings.num_workers=2")
    for resume in ("full-1", "full-1/checkpoint.pt"):
        ran = ask(*BEGAN, *others, f"resume={resume}", primary="train")
        assert ran.code == 0, ran.err
        assert ran.configs[0].epochs == 20
    assert ask("resume=full-1", primary="train").code == 0


def test_samples_that_have_moved_are_found_in_their_new_place(ask, tmp_path):
    for name in ("old", "new"):
        (tmp_path / name).mkdir()
        (tmp_path / name / "text.txt").write_text("to be " * 1000)
    began = ("+model=gpt_small", "data.path=old/text.txt")
    ran = ask(*began, primary="train")
    assert ran.code == 0, ran.err
    folder = tmp_path / "full-1"
    folder.mkdir()
    (folder / "config.yaml").write_text(ran.texts[0])
    (folder / "checkpoint.pt").touch()
    for words in ((began[0], "data.path=new/text.txt"), ("data.path=new/text.txt",)):
        ran = ask(*words, "resume=full-1", primary="train")
        assert ran.code == 0, ran.err
        assert ran.configs[0].data["path"] == "new/text.txt"
    assert "data.path was" in ask(began[0], "resume=full-1", primary="train").err


@pytest.mark.parametrize(
    ("words", "told"),
    [
        (BEGAN[:3], "seed was 3 and is 0"),
        ((*BEGAN, "model.context=64"), "model.context was null and is 64"),
        (
            BEGAN[:1],
            "model.batch_size was 4 and is null; data.n_bytes was 5000 and is 8000000; "
            "seed was 3 and is 0",
        ),
        (
            ("+model=digits_mlp", "model.batch_size=4", "seed=3"),
            "model.workload was hotlap.zoo.gpt.gpt_small and is hotlap.zoo.mlp.digits_mlp",
        ),
    ],
    ids=["seed", "size", "all", "model"],
)
def test_another_workload_is_refused_with_the_keys_that_differ(ask, folder, words, told):
    for resume in ("full-1", "full-1/checkpoint.pt"):
        ran = ask(*words, f"resume={resume}", primary="train")
        assert ran.code == 2 and ran.err.startswith("1 mistake "), ran.err
        assert f"that is to go on began with another workload: {told}\n" in ran.err
        assert f"type:  python train.py resume={resume}, or" in ran.err


@pytest.mark.parametrize(
    "text", ["no config", "a: [", "- 1", "seed: 9", "checkpoint_every_s: ${nothing}", "\0", ""]
)
def test_a_folder_that_does_not_say_what_was_trained_refuses_nothing(ask, folder, text):
    (folder / "config.yaml").write_text(text)
    ran = ask(*BEGAN, "resume=full-1", primary="train")
    assert ran.code == 0, ran.err
