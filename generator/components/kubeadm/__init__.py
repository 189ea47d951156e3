"""The cluster before Argo CD: kubeadm files, what a node needs, and the steps in order."""
