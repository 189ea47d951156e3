"""A running cluster: a real API server's judgement."""
