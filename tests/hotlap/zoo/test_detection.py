import torch

from hotlap.workload import first_tensor
from hotlap.zoo.detection import count, detector, split


def test_shapes_vary_from_step_to_step(boxes_data):
    torch.manual_seed(0)
    workload = detector(boxes_data, image_size=64, device="cpu")
    images = [workload.dataset[i][0] for i in range(len(workload.dataset))]
    assert len({image.shape for image in images}) > 1
    transform = workload.model.transform.train()
    shapes = {transform([images[0]])[0].tensors.shape for _ in range(20)}
    assert len(shapes) > 1


def test_boxes_lie_in_their_image_and_have_known_labels(boxes_data):
    dataset = detector(boxes_data, device="cpu").dataset
    for image, target in (dataset[i] for i in range(len(dataset))):
        height, width = image.shape[1:]
        left, top, right, bottom = target["boxes"].unbind(1)
        assert (left >= 0).all()
        assert (left < right).all()
        assert (right <= width).all()
        assert (top >= 0).all()
        assert (top < bottom).all()
        assert (bottom <= height).all()
        assert set(target["labels"].tolist()) <= {1, 2, 3}
        assert len(target["labels"]) == len(target["boxes"])


def test_a_flip_moves_boxes_with_the_image(boxes_data):
    dataset = detector(boxes_data, device="cpu").dataset
    plain = flipped = None
    torch.manual_seed(0)
    while plain is None or flipped is None:
        image, target = dataset[0]
        if plain is None:
            plain = image, target["boxes"]
        elif not torch.equal(image, plain[0]):
            flipped = image, target["boxes"]
    assert torch.equal(flipped[0].flip(2), plain[0])
    width = plain[0].shape[2]
    assert torch.equal(width - flipped[1][:, [2, 0]], plain[1][:, [0, 2]])


def test_a_batch_can_be_cut_and_counted(boxes_data):
    workload = detector(boxes_data, image_size=64, device="cpu")
    batch = workload.collate_fn([workload.dataset[i] for i in range(5)])
    pieces = list(split(batch, 2))
    assert [count(piece) for piece in pieces] == [2, 2, 1]
    assert workload.count(batch) == 5
    assert [len(piece[1]) for piece in pieces] == [2, 2, 1]
    assert first_tensor(pieces[2]) is batch[0][4]
