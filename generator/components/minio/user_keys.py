"""The Secrets with the keys of MinIO's users, and their copies for who reads them elsewhere."""

from generator.components.component import Secret, Turn
from generator.components.minio.layout import NAMESPACE, SETS_UP, SETUP
from generator.model.storage import ObjectUser

FORMER = "formerAccessKey"
"""The key of a user's Secret that names the access key it had before, as long as consumers still use that one."""


def user_secret(name: str) -> str:
    """Return the name of the Secret with a user's keys."""
    return f"minio-user-{name}"


def user_keys(user: ObjectUser) -> Secret:
    """Declare a user's keys. They are letters and digits only: the client's environment takes no escapes."""
    return Secret(
        name=user_secret(user.name),
        namespace=NAMESPACE,
        keys=("accessKey", "secretKey"),
        source="generated",
        loss="outage",
        rotate="replace it (letters and digits only), then `argocd app sync minio`: that disables the former key, "
        f"unless {FORMER} names it: see operations.md",
        readers=(SETUP,),
        turn=Turn(former={"accessKey": FORMER}, syncs=(SETS_UP,)),
    )


def copied_keys(user: ObjectUser, namespace: str, reader: str, *restarts: str) -> Secret:
    """Declare a user's keys a second time: Secrets do not reach across namespaces."""
    return Secret(
        name=user_secret(user.name),
        namespace=namespace,
        keys=("accessKey", "secretKey"),
        source="generated",
        loss="outage",
        rotate=f"with {NAMESPACE}/{user_secret(user.name)}, after `argocd app sync minio`: see operations.md",
        readers=(reader,),
        copy_of=f"{NAMESPACE}/{user_secret(user.name)}",
        turn=Turn(restarts=restarts),
    )
