from reports.journal import Journal


def test_what_was_not_sent_is_missing_in_the_next_session(tmp_path):
    path = tmp_path / "tracking.jsonl"
    journal = Journal(path)
    first, second = journal.append("trial", {"trial": 1}), journal.append("trial", {"trial": 2})
    journal.sent([first], "a")
    assert Journal(path).missing("a") == [second]


def test_a_line_torn_by_a_kill_spoils_no_other(tmp_path):
    path = tmp_path / "tracking.jsonl"
    kept = Journal(path).append("trial", {"trial": 1})
    with path.open("a") as file:
        file.write('\n{"number": 1, "kind": "tri')
    later = Journal(path)
    new = later.append("trial", {"trial": 2})
    later.sent([kept], "a")
    assert Journal(path).missing("a") == [new]


def test_numbers_go_on_in_the_next_session(tmp_path):
    path = tmp_path / "tracking.jsonl"
    one = Journal(path).append("a", {})
    two = Journal(path).append("b", {})
    assert (one.number, two.number) == (0, 1)


def test_another_server_is_sent_all_and_the_latest_place_is_known(tmp_path):
    path = tmp_path / "tracking.jsonl"
    journal = Journal(path)
    first, second = journal.append("trial", {"trial": 1}), journal.append("trial", {"trial": 2})
    for to, entries in (("a", [first]), ("b", [first, second]), ("a", [second])):
        journal.sent(entries, to)
    later = Journal(path)
    assert later.places == journal.places == ["a", "b"]
    assert [later.missing(to) for to in ("a", "b", "c")] == [[], [], [first, second]]


def test_a_full_disk_is_told_once_and_keeps_no_record_from_the_server(small_disk, fill):
    path, told = small_disk / "tracking.jsonl", []
    journal = Journal(path, told.append)
    first = journal.append("trial", {"trial": 0})
    filler = fill()
    lost = [journal.append("trial", {"trial": i, "words": "x" * 5000}) for i in (1, 2)]
    assert journal.missing("a") == [first, *lost]
    (note,) = told
    assert f"{path} takes no more (No space left on device" in note
    filler.unlink()
    last = journal.append("trial", {"trial": 3})
    assert Journal(path).missing("a") == [first, last]
