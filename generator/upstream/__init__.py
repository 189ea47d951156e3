"""Charts, manifests and images of other projects."""
