"""Day-2 workflows as data."""
