"""Day-2 operations in a running cluster: what can be run, what runs, and how far it is.

All through the API server: Argo's own server is not needed. Workflow v1alpha1, Argo Workflows v4.0.
"""
