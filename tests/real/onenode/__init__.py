"""One real node on loopback: kubelet and containerd run pods, the workflow controller runs workflows."""
