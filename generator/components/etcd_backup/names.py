"""Where the backup of etcd is, and what its objects are known by."""

NAMESPACE = "etcd-backup"
LABELS = {"app.kubernetes.io/name": "etcd-backup", "app.kubernetes.io/part-of": "etcd-backup"}
