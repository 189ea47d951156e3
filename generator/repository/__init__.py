"""The tree on disk and in Git: what would change, whose it is, and writing it whole."""
