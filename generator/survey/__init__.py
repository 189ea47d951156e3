"""What a cluster file would say of a cluster that runs, and what nobody can read there."""
