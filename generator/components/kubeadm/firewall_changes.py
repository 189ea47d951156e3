"""What it means when the files of the host firewall differ."""

from generator.model.change import FILE, ChangeRule, Effect, FieldChange, ObjectChange

OF_POOLS = "node.pools.*.etc.[gen-firewall]"
APPLY = (
    "`sudo node/prepare.sh POOL` there, which copies and checks it; then `gen-firewall.sh apply`, on trial, and "
    "`confirm` by a new connection (clusters/<cluster>/bootstrap/README.md, Firewall)"
)


def closes(change: ObjectChange, field: FieldChange) -> bool:
    """Tell whether a rule goes that let somebody in. A file that leaves whole closes nothing: nodes keep theirs."""
    leaves = any("policy drop" in str(line.old) for line in change.fields)
    return not leaves and " accept" in str(field.old) and " accept" not in str(field.new)


RULES = (
    ChangeRule(
        code="GEN-CHG-940",
        kinds=(FILE,),
        paths=(
            OF_POOLS,
            "node.all.etc.systemd.system.[gen-firewall.service]",
            "node.all.usr.local.sbin.[gen-firewall.sh]",
        ),
        effect=Effect.BY_HAND,
        reason="nodes keep the rules that somebody confirmed there last; what new ones let in is shut out until then, "
        "and a firewall that leaves the file stays in force",
        instead=f"node by node {APPLY}; one that leaves the file goes by `gen-firewall.sh off`",
    ),
    ChangeRule(
        code="GEN-CHG-941",
        kinds=(FILE,),
        paths=(OF_POOLS,),
        effect=Effect.OUTAGE,
        reason="once somebody applies it, those whom the old rule let in can open no new connection there",
        instead=f"make sure that nobody needs the port any more, then node by node {APPLY}",
        when=closes,
    ),
)
