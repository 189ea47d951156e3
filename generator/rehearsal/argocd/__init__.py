"""Argo CD itself as the one who syncs a twin. Of Argo CD 3.5.3; its engine is a commit of that time."""
