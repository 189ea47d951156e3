"""How a running cluster does, and why something is stuck."""
