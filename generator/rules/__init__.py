"""Rules over built objects, grouped by subject."""
