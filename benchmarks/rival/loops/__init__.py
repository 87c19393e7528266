"""Four plain training scripts that know no tuner. Their functions are what is tuned and judged."""
