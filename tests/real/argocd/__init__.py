"""Argo CD as a repository of `gen` installs it: its controller and repository server as processes, with the settings
that bootstrap applied, on a control plane of the twin, and a Git server that has what was rendered.

Use it by `pytest_plugins = ["apiserver", "argocd.fixtures"]`. Of Argo CD 3.5.3; its engine is a commit of that time.
"""
