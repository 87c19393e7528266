from reports.journal import Journal, places


def test_what_was_not_sent_is_missing_in_the_next_session(tmp_path):
    path = tmp_path / "tracking.jsonl"
    journal = Journal(path, "a")
    first, second = journal.append("trial", {"trial": 1}), journal.append("trial", {"trial": 2})
    journal.sent([first])
    assert journal.missing() == Journal(path, "a").missing() == [second]


def test_a_line_torn_by_a_kill_spoils_no_other(tmp_path):
    path = tmp_path / "tracking.jsonl"
    kept = Journal(path, "a").append("trial", {"trial": 1})
    with path.open("a") as file:
        file.write('\n{"number": 1, "kind": "tri')
    later = Journal(path, "a")
    new = later.append("trial", {"trial": 2})
    later.sent([kept])
    assert Journal(path, "a").missing() == [new]


def test_numbers_go_on_in_the_next_session(tmp_path):
    path = tmp_path / "tracking.jsonl"
    first = Journal(path, "a")
    one = first.append("a", {})
    first.sent([one])
    two = Journal(path, "a").append("b", {})
    assert (one.number, two.number) == (0, 1)


def test_another_server_is_sent_all_and_the_latest_place_is_known(tmp_path):
    path = tmp_path / "tracking.jsonl"
    journal = Journal(path, "a")
    first, second = journal.append("trial", {"trial": 1}), journal.append("trial", {"trial": 2})
    for to, entries in (("a", [first]), ("b", [first, second]), ("a", [second])):
        Journal(path, to).sent(entries)
    assert places(path) == ["a", "b"]
    assert [Journal(path, to).missing() for to in "abc"] == [[], [], [first, second]]


def test_what_was_sent_is_kept_in_the_file_alone(tmp_path):
    """A full run adds entries for weeks."""
    path = tmp_path / "tracking.jsonl"
    journal = Journal(path, "a")
    for step in range(100):
        journal.sent([journal.append("run_metrics", {"step": step})])
        assert journal.missing() == [] and not journal._missing
    assert len(Journal(path, "b").missing()) == 100
    assert not Journal(path, "a")._missing


def test_a_full_disk_is_told_once_and_keeps_no_record_from_the_server(small_disk, fill):
    path, told = small_disk / "tracking.jsonl", []
    journal = Journal(path, "a", told.append)
    first = journal.append("trial", {"trial": 0})
    filler = fill()
    lost = [journal.append("trial", {"trial": i, "words": "x" * 5000}) for i in (1, 2)]
    assert journal.missing() == [first, *lost]
    (note,) = told
    assert f"{path} takes no more (No space left on device" in note
    filler.unlink()
    last = journal.append("trial", {"trial": 3})
    assert Journal(path, "a").missing() == [first, last]
