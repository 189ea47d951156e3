"""What Kustomize makes of a repository, and the checks on it."""
