"""An operation on nodes that is tried on a twin of the cluster before it is run: its own scripts, its own order."""
