"""A tracking server's user and password are used and never kept."""

import pytest
import yaml

ADDRESS = "http://me:secret@host:5000"


@pytest.mark.parametrize("primary", ["config", "train"])
def test_the_address_is_used_in_full_and_kept_without_them(ask, primary):
    ran = ask("+model=digits_mlp", f"tracking.uri={ADDRESS}", primary=primary)
    assert ran.code == 0, ran.err
    assert ran.configs[0].tracking.uri == ADDRESS
    assert "secret" not in ran.texts[0] + str(ran.configs[0].words)
    assert yaml.safe_load(ran.texts[0])["tracking"]["uri"] == "http://***@host:5000"


def test_a_study_that_goes_on_asks_for_them(ask, tmp_path, monkeypatch):
    folder = tmp_path / "study"
    folder.mkdir()
    (folder / "config.yaml").write_text(
        ask("+model=digits_mlp", f"tracking.uri={ADDRESS}").texts[0]
    )
    ran = ask("resume=study")
    assert ran.code == 2 and ran.err.startswith("1 mistake "), ran.err
    assert "tracking.uri is 'http://***@host:5000', without the user and the password" in ran.err
    assert ask("resume=study", "tracking=none").code == 0
    again = ask("resume=study", f"tracking.uri={ADDRESS}")
    assert again.configs[0].tracking.uri == ADDRESS and "secret" not in again.texts[0]
    monkeypatch.setenv("MLFLOW_TRACKING_URI", ADDRESS)
    assert ask("resume=study").code == 0
