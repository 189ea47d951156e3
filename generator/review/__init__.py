"""What a change of the repository means for the running clusters."""
