"""`python train.py script=...` is told the command that runs a script with frozen settings."""

import pytest


@pytest.mark.parametrize(
    ("words", "cure"),
    [
        (["script=train.py"], "--settings FILE train.py"),
        (["module=package.train", "--", "-n", "a b"], "--settings FILE -m package.train -n 'a b'"),
        (["script=x=1/t.py", "--cfg", "job", "--", "-n"], "--settings FILE x=1/t.py -n"),
    ],
)
def test_the_command_has_the_script_and_its_arguments(ask, words, cure):
    ran = ask(*words, primary="train")
    assert ran.code == 2 and ran.err.startswith("1 mistake "), ran.err
    assert "train.py trains models" in ran.err
    assert f"type:  python -m hotlap run {cure}\n" in ran.err


def test_the_command_has_the_settings_that_were_named(ask, frozen_file):
    ran = ask("script=train.py", f"settings={frozen_file()}", primary="train")
    assert ran.err.startswith("1 mistake "), ran.err
    assert f"type:  python -m hotlap run --settings {frozen_file()} train.py\n" in ran.err
