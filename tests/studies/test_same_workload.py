"""Which differences between two probes make it another workload, and which are in their nature."""

import pytest

from hotlap.errors import UserInputError
from studies import same_workload

MODEL = {
    "model_digest": "a1",
    "n_parameters": 94986,
    "batch_size": 32,
    "batch_shapes": ["float32 (32, 3, 8, 8)"],
    "shapes_vary": False,
    "n_epoch_steps": 100,
    "optimizer": "SGD",
    "dataset_kind": "mine.Rows",
    "sample_cpu_s": 0.001,
    "shm_free_bytes": 5,
}
LOADER = {"name": "DataLoader", "batch_size": 32}
SCRIPT = {**MODEL, "script": {"loaders": [LOADER]}, "own_settings": {"num_workers": 1}}
HEADER = MODEL
"""A recording of the script: its table keeps nothing of what was found in it."""
FILLED = {"script": {"loaders": [{**LOADER, "batch_size": None}]}}  # up to a length, say
LARGER = {"script": {"loaders": [{**LOADER, "batch_size": 256}]}, "batch_size": 256}


@pytest.mark.parametrize(
    ("then", "change", "told"),
    [
        (MODEL, {"n_parameters": 1234, "model_digest": "b2"}, "94,986 parameters, now 1,234"),
        (MODEL, {"model_digest": "b2"}, "the model has other layers"),
        (MODEL, {"batch_size": 64}, "batches of 32 samples, now 64"),
        (
            MODEL,
            {"batch_shapes": ["float32 (32, 3, 9, 9)"]},
            "batches of float32 (32, 3, 8, 8), now float32 (32, 3, 9, 9)",
        ),
        (MODEL, {"n_epoch_steps": 50}, "100 batches an epoch, now 50"),
        (MODEL, {"optimizer": "Adam"}, "the optimizer SGD, now Adam"),
        (MODEL, {"dataset_kind": "mine.Others"}, "the data set mine.Rows, now mine.Others"),
        (SCRIPT, {"n_parameters": 1234}, "94,986 parameters, now 1,234"),
        (SCRIPT, {"own_settings": {"num_workers": 4}}, "num_workers=1 of its own, now 4"),
        (HEADER, LARGER, "batches of 32 samples, now 256"),
        ({**HEADER, "shapes_vary": True}, LARGER, "batches of 32 samples, now 256"),
        (HEADER, {**FILLED, "n_parameters": 1234}, "94,986 parameters, now 1,234"),
    ],
)
def test_another_workload_is_refused_with_what_has_changed(then, change, told):
    with pytest.raises(UserInputError) as caught:
        same_workload(then, {**then, **change}, "python tune.py +model=mine")
    text = str(caught.value)
    assert text.startswith(f"the workload has changed since this study began ({told}), ")
    assert text.endswith("start a new study: python tune.py +model=mine")


@pytest.mark.parametrize(
    ("then", "change"),
    [
        (MODEL, {"sample_cpu_s": 0.1, "shm_free_bytes": 9}),
        (MODEL, {"n_epoch_steps": 97}),  # a split drawn by chance
        (MODEL, {"shapes_vary": True, "batch_shapes": ["float32 4 dimensions"]}),
        (SCRIPT, {"batch_shapes": ["float32 (32, 3, 9, 9)"]}),  # sizes change every ten steps
        ({**SCRIPT, "script": {"loaders": [{"batch_size": None}]}}, {"batch_size": 29}),
        (HEADER, SCRIPT),
        (HEADER, {**SCRIPT, "batch_shapes": ["float32 (32, 3, 9, 9)"]}),
        ({**HEADER, "batch_size": 37}, {**FILLED, "batch_size": 41}),
        ({"n_parameters": 94986}, SCRIPT),
        ({"n_parameters": 94986}, MODEL),  # facts of an earlier version have fewer
        ({**SCRIPT, "batch_size": 1, "script": {"loaders": []}}, {"n_epoch_steps": None}),
    ],
)
def test_what_differs_between_two_probes_by_nature_is_no_change(then, change):
    same_workload(then, {**then, **change}, "python tune.py")
