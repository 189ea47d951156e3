"""Names that the parts of Zabbix know each other by."""

NAMESPACE = "zabbix"
DATABASE = "zabbix-database"
SERVER = "zabbix-server"
# Agents need the host: alone in a namespace, so that the others need not be privileged.
AGENTS = "zabbix-agent"
# The Secret that Kubernetes fills with a token to read the state of the cluster.
TOKEN = "zabbix-reader-token"  # noqa: S105  # a name

# The administrator's Secret, whose key is the password.
ADMIN = "zabbix-admin"
# The Jobs' parts and what they read.
CONFIGURE = "zabbix-configure"
PASSWORD = "zabbix-password"  # noqa: S105  # a name
COMPLETE = "zabbix-complete"
HEARTBEAT = "zabbix-heartbeat"
SCRIPT = "zabbix-configure-script"
SET_PASSWORD = "set-password.sh"  # noqa: S105  # a file
FORMER = "formerPassword"
"""The key of Admin's Secret with the password from before, until Zabbix has taken the new one."""
TEMPLATES = "zabbix-templates"
# The frontend's certificate.
TLS = "zabbix-tls"

# The order of a sync after servers and database are healthy. Nobody may come in while the default password holds, and
# a node that is down, whose agent never becomes ready, must hold nothing else.
PASSWORD_SET, OPEN, CONFIGURED, WITH_AGENTS = range(1, 5)


def bot_secret(media: str) -> str:
    """Return the name of the Secret with the token of the bot that sends alerts this way."""
    return f"zabbix-{media}"


def labels(part: str) -> dict[str, str]:
    """Return the labels that select one part."""
    return {"app.kubernetes.io/name": part}
