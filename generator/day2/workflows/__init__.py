"""Day-2 operations in a running cluster: what can be run, what runs, and how far it is.

Through the API server, or through Argo's own server where people reach only that. Workflow v1alpha1, Argo Workflows
v4.0.
"""
