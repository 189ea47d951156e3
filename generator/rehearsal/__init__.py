"""A change that is tried on a twin of the cluster before it is merged."""
