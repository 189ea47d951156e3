"""From a cluster of bare nodes to one that Argo CD syncs."""
