"""Reading a cluster file."""
