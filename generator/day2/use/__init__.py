"""The use of a cluster's GPUs in a month, by team, as its Prometheus recorded it."""
