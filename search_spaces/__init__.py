"""What may be changed: knobs, the facts that bound them, and the way from a trial to Settings."""

from search_spaces.active import active, nothing_left, searched
from search_spaces.auto import shm_need_bytes
from search_spaces.expert import expert
from search_spaces.hardware import WORDS, machine_facts, words
from search_spaces.knob import Knob, When
from search_spaces.numerics import numerics_class
from search_spaces.nvml import unanswered
from search_spaces.refusal import refusal
from search_spaces.space import Space
from search_spaces.suggest import grid, params_of, size, suggest

__all__ = [
    "WORDS",
    "Knob",
    "Space",
    "When",
    "active",
    "expert",
    "grid",
    "machine_facts",
    "nothing_left",
    "numerics_class",
    "params_of",
    "refusal",
    "searched",
    "unanswered",
    "shm_need_bytes",
    "size",
    "suggest",
    "words",
]
