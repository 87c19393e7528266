"""Config files that are no text, or cannot be read: a mistake like others."""

from pathlib import Path

import pytest

LATIN = "model: {workload: my_module.make, width: 3}  # für alle\n".encode("latin-1")


@pytest.mark.parametrize("words", [["budget=soon"], ["--cfg", "job"]])
def test_a_file_in_another_encoding_is_named(ask, my_conf, words):
    folder = my_conf(other="budget: 1m\n")
    (folder / "model" / "mine.yaml").write_bytes(b"# @package _global_\n" + LATIN)
    ran = ask("--config-dir", "my_conf", "+model=mine", *words)
    assert ran.code == 2, ran.err
    assert ran.err.startswith("2 mistakes " if "budget=soon" in words else "1 mistake ")
    assert "this file is no text in UTF-8" in ran.err
    assert "where: my_conf/model/mine.yaml" in ran.err
    assert "iconv -f ISO-8859-1 -t UTF-8 my_conf/model/mine.yaml" in ran.err


def test_a_primary_config_in_another_encoding_is_named_once(ask, my_conf):
    folder = my_conf()
    (folder / "quick.yaml").write_bytes(
        "defaults: [config, _self_]  # für alle\n".encode("latin-1")
    )
    ran = ask("--config-dir", "my_conf", "--config-name", "quick", "+model=mine", "sampler=gp")
    assert ran.code == 2, ran.err
    assert ran.err.count("this file is no text in UTF-8") == 1
    assert "where: my_conf/quick.yaml" in ran.err


@pytest.mark.skipif(not Path("/proc/self/mem").exists(), reason="needs a file that nobody can read")
def test_a_file_that_cannot_be_read_is_named(ask, my_conf):
    folder = my_conf()
    (folder / "model" / "mine.yaml").unlink()
    (folder / "model" / "mine.yaml").symlink_to("/proc/self/mem")  # an error of input and output
    ran = ask("--config-dir", "my_conf", "+model=mine")
    assert ran.code == 2 and ran.err.startswith("1 mistake "), ran.err
    assert "this file cannot be read: Input/output error" in ran.err
    assert "Traceback" not in ran.err


def test_another_file_in_another_encoding_harms_nobody(ask, my_conf):
    folder = my_conf()
    (folder / "data").mkdir()
    (folder / "data" / "theirs.yaml").write_bytes(LATIN)
    assert ask("--config-dir", "my_conf", "+model=mine").code == 0
    ran = ask("--config-dir", "my_conf", "+model=resnet50", "data=text")
    assert ran.code == 2 and "the model takes images" in ran.err


def test_a_study_whose_config_is_no_text_does_not_go_on(ask, tmp_path):
    (tmp_path / "study").mkdir()
    (tmp_path / "study" / "config.yaml").write_bytes("name: für\n".encode("latin-1"))
    ran = ask("resume=study")
    assert ran.code == 2 and ran.err.startswith("1 mistake "), ran.err
    assert "no text in UTF-8" in ran.err and "where: study/config.yaml" in ran.err
