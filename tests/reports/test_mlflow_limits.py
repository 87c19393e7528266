from reports.mlflow_limits import about, key_text, note_text, param_text, tag_text


def test_names_keep_only_what_every_server_takes():
    assert key_text("samples/s @ w=4 [%]é") == "samples/s _ w_4 ____"
    assert len(key_text("x" * 9000)) == 250


def test_long_values_are_cut_and_show_it():
    for cut, limit in ((param_text, 250), (tag_text, 500), (note_text, 5000)):
        assert len(cut("v" * 9000)) == limit
        assert cut("v" * 9000).endswith("...")
        assert cut("short") == "short"


def test_facts_become_flat_tags():
    record = {
        "workload": "w",
        "facts": {
            "n_cpus": 2,
            "gpu": {"name": "H200", "uuid": None},
            "words_of": "",
            "gpus": [],
            "words": ["a", "b"],
        },
        "versions": {"torch": "2.14"},
        "git_commit": "0a1b",
    }
    assert {name: tag_text(value) for name, value in about(record).items()} == {
        "workload": "w",
        "fact.n_cpus": "2",
        "fact.gpu.name": "H200",
        "fact.words": "a, b",
        "version.torch": "2.14",
        "mlflow.source.git.commit": "0a1b",
    }
