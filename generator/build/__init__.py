"""What Kustomize makes of a repository or of any folder: the objects as they would be applied."""
