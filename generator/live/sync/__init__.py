"""Bringing a running cluster to one commit, wave by wave."""
