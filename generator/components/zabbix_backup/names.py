"""Where the backup of Zabbix's database is, and what its objects are known by."""

NAMESPACE = "zabbix-backup"
PART = "zabbix-backup"
LABELS = {"app.kubernetes.io/name": PART, "app.kubernetes.io/part-of": PART}
RESTORE = "restore-zabbix"
"""The operation that brings a dump back."""
DRILL = "zabbix-drill"
"""The operation that tries a dump."""
