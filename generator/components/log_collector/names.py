"""Names by which others know the collector."""

NAMESPACE = "log-collector"
LABELS = {"app.kubernetes.io/name": "alloy"}
METRICS_PORT = 12345
PLATFORM = "platform"
"""The tenant of everything that is no team's."""
