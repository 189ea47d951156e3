"""Where the backups of MinIO's buckets are, and what their objects are known by."""

NAMESPACE = "minio-backup"
