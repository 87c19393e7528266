"""Workloads of our own, used exactly as a user's own would be: by their dotted path.

Models: `vision` (resnet50, resnet18, vit_b_16), `gpt` (gpt_small), `detection` (detector), `mlp`
(digits_mlp). Data: `images` (image_folder, generated_jpegs, generated_boxes), `text`, `digits`,
`resident`. Weights are random and nothing is downloaded.
"""
