import pytest

SMALL = {"n_images": 6, "n_classes": 2}


@pytest.fixture(autouse=True, scope="session")
def cache(tmp_path_factory):
    folder = tmp_path_factory.mktemp("cache")
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("HOTLAP_CACHE", str(folder))
        yield folder


@pytest.fixture(scope="session")
def jpegs_data():
    return {"dataset": "hotlap.zoo.images.generated_jpegs", **SMALL}


@pytest.fixture(scope="session")
def boxes_data():
    return {"dataset": "hotlap.zoo.images.generated_boxes", **SMALL}


@pytest.fixture(scope="session")
def text_data():
    return {"dataset": "hotlap.zoo.text.text", "n_bytes": 20_000}
