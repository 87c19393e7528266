from studies.answer import difference, unsound


def answer(**changes):
    return {"losses": [1.0] * 8, "n_skipped_steps": 0, "finite": True, **changes}


def test_a_scaler_may_skip_until_it_has_its_scale_and_not_for_ever():
    assert unsound(answer(n_skipped_steps=16)) == ""
    assert "skipped 19 updates" in unsound(answer(n_skipped_steps=19))
    assert unsound(answer(finite=False)) == "its parameters are not finite after 8 steps"
    assert unsound(answer(losses=[1.0, float("-inf")])) == "its loss is -inf at step 2"
    stale = "sampler.weights changed"
    assert unsound(answer(stale=stale)) == f"its loader workers change what is trained: {stale}"
    assert unsound(answer(stale="")) == ""


def batch(every="a", rest="r", size=100.0):
    return [every, rest, size]


def test_batches_are_equal_equal_to_rounding_or_other_ones():
    base = answer(batches=[batch(), batch()])
    assert difference(base, base) == ""
    rounded = answer(batches=[batch(), batch(every="b", size=100.0005)])
    assert difference(rounded, base) == "rounding"
    for other in (batch(every="b", size=100.1), batch(every="b", rest="s")):
        found = difference(answer(batches=[batch(), other]), base)
        assert found == "batch 2 is another one than the baseline's"
