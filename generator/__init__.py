"""Turn one file that describes an on-premises ML cluster into a repository that Argo CD syncs."""

__version__ = "0.1.0"
