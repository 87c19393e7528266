from search_spaces.sharing import worker_counts

REPEATED = {"iterable_dataset": True, "stream_sharing": "repeated"}


def test_a_map_style_dataset_and_a_stream_that_shares_have_every_count() -> None:
    for facts in ({}, {"iterable_dataset": True, "stream_sharing": "shared"}):
        assert worker_counts([0, 1, 2, 4], 0, False, facts) == ([0, 1, 2, 4], "", "")


def test_a_baseline_that_repeats_a_stream_twice_goes_on_doing_so() -> None:
    kept, left_out, _ = worker_counts([0, 1, 2, 4], 2, True, REPEATED)
    assert kept == [2] and left_out.startswith("2 only, because")


def test_nothing_is_said_where_nothing_is_left_out() -> None:
    assert worker_counts([0, 1], 0, False, REPEATED) == ([0, 1], "", "")


def test_a_generator_of_the_datasets_own_is_a_doubt_and_no_refusal() -> None:
    facts = {"own_generator": "dataset.rng"}
    kept, left_out, doubt = worker_counts([0, 2], 0, False, facts)
    assert (kept, left_out) == ([0, 2], "")
    assert doubt.startswith("num_workers is searched, although dataset.rng is a random generator")
    assert worker_counts([1, 2], 1, False, facts)[2] == ""  # the baseline has copies as well
