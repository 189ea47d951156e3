"""Edits of a cluster file as people mean them, nodes and pools: what the file would be, and what the cluster gains."""
