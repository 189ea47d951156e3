"""Judges of what `gen` renders: each takes a built cluster and returns what is wrong, in words."""
