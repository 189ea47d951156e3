"""Where the report of health and capacity runs, and what its objects are known by."""

NAME = "health-report"
NAMESPACE = "health-report"
SCRIPTS = "health-report-scripts"
FACTS = "health-report-facts"
LABELS = {"app.kubernetes.io/name": NAME, "app.kubernetes.io/part-of": NAME}
