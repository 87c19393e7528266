"""Paths of the data are looked at before anything starts."""

import os

import pytest

OF = "data.of.dataset=hotlap.zoo.images.image_folder"


@pytest.fixture
def images(tmp_path):
    (tmp_path / "images" / "cats").mkdir(parents=True)
    (tmp_path / "empty").mkdir()
    (tmp_path / "text.txt").write_text("words")


@pytest.mark.parametrize(
    ("words", "says", "cure"),
    [
        ("data=image_folder", "data.root is not set", "data.root=/path/to/images"),
        ("data=image_folder data.root=nope", "data.root is 'nope', and there is no such fo", ""),
        ("data=image_folder data.root=text.txt", "'text.txt', and that is no folder", ""),
        ("data=image_folder data.root=text.txt/x", "it cannot be read (Not a directory)", ""),
        ("data=image_folder data.root=empty", "'empty', and there is no folder in it", ""),
        ("data=image_folder data.root=7", "data.root is 7, and that is no path", ""),
        ("data=image_folder data.root=~nobody-of-that-name/x", "it cannot be read (", ""),
        (f"data=image_folder data.root={'a' * 5000}", "File name too long", ""),
        (f"data=resident {OF}", "data.of.root is not set", "data.of.root=/path/to/images"),
        (f"data=resident {OF} data.of.root=nope", "data.of.root is 'nope', and there is", ""),
    ],
)
def test_data_that_are_not_there_are_a_mistake_like_others(
    ask, images, tmp_path, words, says, cure
):
    before = sorted(path.name for path in tmp_path.iterdir())
    for primary, typo in (("config", "budget=soon"), ("train", "seed=many")):
        ran = ask("+model=resnet50", *words.split(), typo, primary=primary)
        assert ran.code == 2 and ran.err.startswith("2 mistakes "), ran.err
        assert says in ran.err and f"type:  {cure or 'data.'}" in ran.err
        assert "    where: " in ran.err and "one folder of images for each class" in ran.err
    assert sorted(path.name for path in tmp_path.iterdir()) == before


def test_a_text_of_ones_own_has_to_be_there(ask, images):
    ran = ask("+model=gpt_small", "data.path=nope.txt")
    assert ran.code == 2 and ran.err.startswith("1 mistake "), ran.err
    assert "data.path is 'nope.txt', and there is no such file" in ran.err
    assert "command line: data.path=nope.txt" in ran.err
    assert "type:  data.path=/path/to/a/text" in ran.err
    ran = ask("+model=gpt_small", "data.path=images")
    assert ran.code == 2 and "'images', and that is no file" in ran.err


@pytest.mark.parametrize(
    "words",
    [
        "+model=resnet50 data=image_folder data.root=images",
        f"+model=resnet50 data=resident {OF} data.of.root=images",
        "+model=resnet50 data=resident",
        "+model=gpt_small data.path=text.txt",
        "+model=gpt_small",
    ],
)
def test_data_that_are_there_pass(ask, images, words):
    assert ask(*words.split()).code == 0


def test_the_home_folder_is_understood(ask, images, tmp_path, monkeypatch):
    monkeypatch.setenv("HOME", str(tmp_path))
    assert ask("+model=resnet50", "data=image_folder", "data.root='~/images'").code == 0


def test_a_study_that_goes_on_is_told_how_its_data_come_back(ask, images, tmp_path):
    ran = ask("+model=resnet50", "data=image_folder", "data.root=images")
    (tmp_path / "study").mkdir()
    (tmp_path / "study" / "config.yaml").write_text(ran.texts[0])
    os.rename("images", "moved")
    ran = ask("resume=study")
    assert ran.code == 2 and "data.root is 'images', and there is no such folder" in ran.err
    assert "type:  ln -s <where it is now> images" in ran.err
