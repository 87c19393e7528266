"""The bank's folder: whole entries, whoever writes at once, and nothing else is believed."""

import os
import subprocess
import sys
from pathlib import Path

import pytest
from banked import ELSEWHERE, FACTS, LARGER, origin_of, plain_goal

from hotlap import frozen
from hotlap.settings import Settings
from studies import Bank
from tests.conftest import LAUGHS, ROOT

TWO = Settings(num_workers=2)
FOUR = Settings(num_workers=4)


class Notes(list):
    def __call__(self, text):
        self.append(text)


@pytest.fixture
def notes():
    return Notes()


@pytest.fixture
def bank(tmp_path, notes):
    return Bank(tmp_path / "bank", notes)


def never(old):
    return False


def always(old):
    return True


def test_an_entry_is_a_frozen_file_that_is_found_by_machine_workload_and_goal(bank):
    goal = plain_goal()
    assert bank.find(FACTS, goal) is None
    assert bank.store(TWO, origin_of(goal), never) == "added"
    found = bank.find(FACTS, plain_goal(budget_s=1.0))
    assert found.settings == TWO == frozen.load(found.path)
    assert found.speedup == 2.0 and found.date.startswith("2026-11-30")
    assert bank.find(LARGER, goal) is None and bank.find(ELSEWHERE, goal) is None
    assert bank.find(FACTS, plain_goal(objective="run_time")) is None


def test_a_better_one_takes_the_place_and_one_as_good_does_not(bank):
    goal = plain_goal()
    bank.store(TWO, origin_of(goal), never)
    assert bank.store(FOUR, origin_of(goal, speedup=3.0), always) == "kept"
    assert bank.find(FACTS, goal).settings == TWO
    assert bank.store(FOUR, origin_of(goal, speedup=3.0), never) == "updated"
    (entry,) = bank.entries()
    assert entry.settings == FOUR and entry.speedup == 3.0


def test_what_held_its_own_in_a_longer_search_answers_for_one_as_long(bank):
    short, long = plain_goal(budget_s=60.0), plain_goal(budget_s=600.0)
    bank.store(TWO, origin_of(short), never)
    assert not bank.find(FACTS, long).goal.answers(long)
    assert bank.store(FOUR, origin_of(long, speedup=1.5), always) == "kept"
    entry = bank.find(FACTS, long)
    assert entry.goal.answers(long) and entry.settings == TWO and entry.speedup == 2.0


def test_workloads_and_machines_do_not_get_in_each_others_way(bank):
    goal = plain_goal()
    for facts, settings in ((FACTS, TWO), (LARGER, FOUR), (ELSEWHERE, FOUR)):
        assert bank.store(settings, origin_of(goal, facts), never) == "added"
    assert bank.find(FACTS, goal).settings == TWO
    assert len(bank.entries()) == 3


def test_a_refuted_entry_stays_and_says_so_unless_it_was_replaced_meanwhile(bank):
    goal = plain_goal()
    bank.store(TWO, origin_of(goal), never)
    old = bank.find(FACTS, goal)
    bank.refute(old, "2026-12-01")
    assert bank.find(FACTS, goal).refuted and bank.find(FACTS, goal).settings == TWO
    bank.store(FOUR, origin_of(goal, date="2026-12-02"), never)
    bank.refute(old, "2026-12-03")
    assert not bank.find(FACTS, goal).refuted


def test_of_two_copies_the_one_that_was_proven_again_is_refuted(bank):
    goal = plain_goal()
    bank.store(TWO, origin_of(goal, date="2026-12-02"), never)
    (path,) = bank.path.glob("*.yaml")
    frozen.dump(bank.path / "older.yaml", FOUR, origin_of(goal, date="2026-11-01"))
    newer, older = bank.entries()
    bank.refute(older, "2026-12-03")
    assert [entry.refuted for entry in bank.entries()] == [False, True]
    older.path.unlink()
    bank.refute(older, "2026-12-04")  # it is gone
    (entry,) = bank.entries()
    assert entry.path == path == newer.path and not entry.refuted


def test_all_copies_of_an_entry_are_refuted_and_no_other_one(bank):
    goal = plain_goal()
    bank.store(TWO, origin_of(goal), never)
    (path,) = bank.path.glob("*.yaml")
    (bank.path / "copy.yaml").write_text(path.read_text())
    frozen.dump(bank.path / "another.yaml", FOUR, origin_of(goal))
    one = next(entry for entry in bank.entries() if entry.path == path)
    bank.refute(one, "2026-12-01")
    refuted = {entry.path.name: entry.refuted for entry in bank.entries()}
    assert refuted == {path.name: True, "copy.yaml": True, "another.yaml": False}


def damage(path, text):
    half = text[: len(text) // 2]
    return {
        "half a file": half,
        "empty": "",
        "no YAML": "settings: {num_workers: [",
        "not ours": "settings: {num_workers: 2}\n",
        "a setting that is none": text.replace("num_workers: 2", "num_workers: -2"),
        "no proof": text.replace("speedup: 2.0", "speedup: many"),
        "slower": text.replace("- 1.8", "- 0.8"),
        "no goal": text.replace("objective: throughput", "purpose: throughput"),
        "a goal that is none": text.replace("budget_s: 600.0", "budget_s: long"),
        "a budget that no number holds": text.replace("budget_s: 600.0", f"budget_s: 1{'0' * 400}"),
        "a speedup that no number holds": text.replace("speedup: 2.0", f"speedup: 1{'0' * 400}"),
        "a number that no text holds": text.replace("cores: 2", f"cores: 0x{'f' * 9999}"),
        "a date that is none": text.replace("facts:", "when: 2026-02-31\n  facts:"),
        "a list of itself": text.replace("facts:", "loop: &loop [*loop]\n  facts:"),
        "a fact that stands for more than any memory holds": text.replace(
            "facts:", f"l0: &l0 [lol]\n{LAUGHS}  facts:"
        ),
        "a range without its low end": text.replace(
            "        num_workers:\n        - 0\n        - 2", "        num_workers: {high: 2}"
        ),
        "a later version's goal": text.replace("objective:", "limit_s: 3\n      objective:"),
        "a later version's setting": text.replace("num_workers: 2", "num_wings: 2"),
        "merged settings": text.replace("settings:", "<<: {settings: {num_wings: 2}}\nthese:", 1),
        "binary": "\0\1\2",
        "facts of nothing": text.replace("model_digest", "model"),
    }


KINDS = list(damage(None, ""))


@pytest.mark.parametrize("kind", KINDS)
def test_damaged_and_foreign_files_are_told_skipped_and_left_as_they_are(bank, notes, kind):
    goal = plain_goal()
    bank.store(TWO, origin_of(goal), never)
    (path,) = bank.path.glob("*.yaml")
    text = damage(path, path.read_text())[kind]
    assert text != path.read_text()
    path.write_text(text)
    assert bank.find(FACTS, goal) is None
    assert bank.store(FOUR, origin_of(goal), never) == "added"
    assert bank.find(FACTS, goal).settings == FOUR
    assert path.read_text() == text
    (note,) = notes
    assert str(path) in note and "is no entry of the bank and is left alone" in note


def test_what_is_no_file_at_all_is_told_too(bank, notes):
    bank.store(TWO, origin_of(plain_goal()), never)
    (bank.path / "folder.yaml").mkdir()
    os.mkfifo(bank.path / "pipe.yaml")  # reading it would wait forever
    (bank.path / "gone.yaml").symlink_to("nowhere")
    with (bank.path / "large.yaml").open("w") as file:
        file.truncate(1 << 21)
    (bank.path / ".hidden").write_text("an editor's affair")
    assert len(bank.entries()) == 1
    assert len(notes) == 4 and bank.entries() and len(notes) == 4


def test_a_folder_that_cannot_be_written_is_told_once(tmp_path, notes):
    (tmp_path / "file").write_text("")
    bank = Bank(tmp_path / "file" / "bank", notes)
    bank.prepare()
    assert bank.entries() == []
    with pytest.raises(OSError) as caught:
        bank.store(TWO, origin_of(plain_goal()), never)
    bank.unwritable(caught.value)
    (note,) = notes
    assert "cannot be written: Not a directory" in note and "bank=none" in note


WRITER = """
import sys
from pathlib import Path
sys.path.insert(0, sys.argv[1])
from banked import FACTS, origin_of, plain_goal
from hotlap.settings import Settings
from studies.bank import Bank

me, bank = int(sys.argv[3]), Bank(Path(sys.argv[2]), sys.exit)  # a note is a failure
print("ready", flush=True)
sys.stdin.readline()
for turn in range(10):
    speedup = 2.0 + me + turn / 100
    own = {**FACTS, "model_digest": f"{me}"}
    shared = origin_of(plain_goal(), speedup=speedup)
    bank.store(Settings(num_workers=me), origin_of(plain_goal(), own), lambda old: False)
    bank.store(Settings(num_workers=me), shared, lambda old: old.speedup >= speedup)
"""


def test_several_studies_at_once_leave_whole_entries_and_the_best_of_each(bank, notes):
    writers = [
        subprocess.Popen(
            [sys.executable, "-c", WRITER, str(Path(__file__).parent), str(bank.path), str(me)],
            cwd=ROOT,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
        )
        for me in (1, 2, 3, 4)
    ]
    try:
        for writer in writers:
            assert writer.stdout.readline() == "ready\n"
        for writer in writers:
            writer.stdin.write("go\n")
            writer.stdin.flush()
        while any(writer.poll() is None for writer in writers):
            bank.entries()  # a reader meanwhile sees whole files only
        assert [writer.wait() for writer in writers] == [0] * 4
    finally:
        for writer in writers:
            writer.kill()
            writer.communicate()
    assert notes == []
    assert len(bank.entries()) == 5  # one of each, and one that they share
    assert bank.find(FACTS, plain_goal()).settings.num_workers == 4
    assert bank.find(FACTS, plain_goal()).speedup == 6.09
    assert all(path.suffix == ".yaml" or path.name == ".lock" for path in bank.path.iterdir())
