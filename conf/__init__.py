"""The configuration: YAML groups that a user edits, and their types."""
