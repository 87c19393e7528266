"""A trial, a probe or a comparison of losses on somebody's own script, unchanged."""
