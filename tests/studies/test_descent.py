from hotlap.settings import Settings
from search_spaces import Knob, Space
from studies.descent import Descent

KNOBS = [
    Knob("num_workers", (0, 1, 2)),
    Knob("memory_format", ("contiguous", "channels_last")),
    Knob("multiprocessing_context", ("default", "spawn")),
]


def walk(descent, better=lambda settings: False):
    """All proposals, where the incumbent moves to what is better."""
    incumbent, found = Settings(), []
    while (settings := descent.propose(incumbent)) is not None:
        found.append(settings.changed())
        incumbent = settings if better(settings) else incumbent
    return found


def test_each_value_of_a_likely_knob_is_tried_once_from_the_incumbent():
    found = walk(Descent(Space(KNOBS, Settings()), data_wait_share=0.05))
    assert found == [{"memory_format": "channels_last"}, {"num_workers": 1}, {"num_workers": 2}]


def test_what_helped_stays_while_the_next_knob_is_tried():
    descent = Descent(Space(KNOBS, Settings()), data_wait_share=0.05)
    found = walk(descent, lambda settings: settings.memory_format == "channels_last")
    assert found[1] == {"memory_format": "channels_last", "num_workers": 1}


def test_a_baseline_that_waits_for_data_tries_the_loader_first():
    found = walk(Descent(Space(KNOBS, Settings()), data_wait_share=0.5))
    assert found[0] == {"num_workers": 1}


def test_a_baseline_that_never_waits_leaves_the_loader_alone():
    found = walk(Descent(Space(KNOBS, Settings()), data_wait_share=0.001))
    assert found == [{"memory_format": "channels_last"}]


def test_a_value_that_was_tried_is_not_tried_again_from_a_new_incumbent():
    found = walk(Descent(Space(KNOBS, Settings()), 0.5), lambda s: s.num_workers > 0)
    assert [f.get("num_workers") for f in found].count(1) >= 1
    assert len(found) == len({tuple(f.items()) for f in found})
