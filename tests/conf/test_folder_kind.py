"""The folder of the other script is told in one sentence, whatever else was typed."""

import pytest


@pytest.fixture
def both(ask, tmp_path):
    """outputs/mine with two studies and a full run in it, as the scripts write their configs."""
    words = ("+model=digits_mlp", "tracking=none")
    texts = {
        "2026-01-01": ask(*words).texts[0],
        "2026-01-02": ask(*words).texts[0],
        "full-2026-01-03": ask(*words, primary="train").texts[0],
    }
    for name, text in texts.items():
        folder = tmp_path / "outputs" / "mine" / name
        folder.mkdir(parents=True)
        (folder / "config.yaml").write_text(text)
    return tmp_path / "outputs" / "mine"


def test_a_studys_folder_is_none_of_a_full_run(ask, both):
    ran = ask("resume=outputs/mine/2026-01-01", "epochs=3", primary="train")
    assert ran.code == 2 and ran.err.startswith("1 mistake ")
    assert "outputs/mine/2026-01-01 is the folder of a study, not of a full run" in ran.err
    assert "type:  python tune.py resume=outputs/mine/2026-01-01\n" in ran.err
    assert "settings=" not in ran.err  # nothing is frozen yet
    (both / "2026-01-01" / "frozen.yaml").touch()
    ran = ask("resume=outputs/mine/2026-01-01", primary="train")
    frozen = "settings=outputs/mine/2026-01-01/frozen.yaml"
    assert f"python train.py +model=digits_mlp tracking=none {frozen}\n" in ran.err


def test_a_full_runs_folder_is_none_of_a_study(ask, both):
    (both / "full-2026-01-03" / "checkpoint.pt").touch()
    for name in ("full-2026-01-03", "full-2026-01-03/checkpoint.pt"):
        ran = ask(f"resume=outputs/mine/{name}", "n_trials=3")
        assert ran.code == 2 and ran.err.startswith("1 mistake ")
        assert "outputs/mine/full-2026-01-03 is the folder of a full run, not of" in ran.err
        assert "type:  python train.py resume=outputs/mine/full-2026-01-03\n" in ran.err


@pytest.mark.parametrize(
    ("primary", "listed"),
    [
        ("config", "outputs/mine/2026-01-02, outputs/mine/2026-01-01"),
        ("train", "outputs/mine/full-2026-01-03"),
    ],
)
def test_the_folder_above_lists_what_can_go_on(ask, both, primary, listed):
    (both / "other" / "config.yaml").mkdir(parents=True)
    ran = ask("resume=outputs/mine", primary=primary)
    assert ran.code == 2 and ran.err.startswith("1 mistake ")
    assert "outputs/mine holds nothing to go on with: no config.yaml in it" in ran.err
    assert f"one of the folders in it, the latest first: {listed}\n" in ran.err
    assert f"type:  resume={listed.partition(',')[0]}\n" in ran.err
