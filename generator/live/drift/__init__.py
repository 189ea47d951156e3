"""What of a running cluster differs from Git, and who changed it."""
