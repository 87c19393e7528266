from reports.journal import Journal


def test_what_was_not_sent_is_missing_in_the_next_session(tmp_path):
    path = tmp_path / "tracking.jsonl"
    journal = Journal(path)
    first, second = journal.append("trial", {"trial": 1}), journal.append("trial", {"trial": 2})
    journal.sent([first])
    assert Journal(path).missing() == [second]


def test_a_line_torn_by_a_kill_spoils_no_other(tmp_path):
    path = tmp_path / "tracking.jsonl"
    kept = Journal(path).append("trial", {"trial": 1})
    with path.open("a") as file:
        file.write('\n{"number": 1, "kind": "tri')
    later = Journal(path)
    new = later.append("trial", {"trial": 2})
    later.sent([kept])
    assert Journal(path).missing() == [new]


def test_numbers_go_on_in_the_next_session(tmp_path):
    path = tmp_path / "tracking.jsonl"
    one = Journal(path).append("a", {})
    two = Journal(path).append("b", {})
    assert (one.number, two.number) == (0, 1)
