"""A real API server's judgement of what is rendered."""
