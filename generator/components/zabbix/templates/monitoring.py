"""What the server itself watches: that what it hears of a cluster still comes."""

from generator.components.component import Manifest
from generator.components.zabbix.export import calculated, integer, item, template, trigger

MONITORING = "gen monitoring"


def monitoring() -> Manifest:
    """Return the template of what the server knows of itself."""
    return template(
        MONITORING,
        "The monitoring itself, as the server sees it",
        macros={"{$PROXY}": "", "{$PROXY.SILENT}": "5m"},
        items=[proxy(), channels()],
    )


def proxy() -> Manifest:
    """Return the proxy's last sign of life. What a proxy watches is never without data while the proxy
    is away, so all other problems would be silent with it. One that never came has 0 there.
    """
    key = "zabbix[proxy,{$PROXY},lastaccess]"
    away = trigger("The proxy is away: nothing is watched", f"now()-last(/@/{key})>{{$PROXY.SILENT}}", "HIGH")
    return {**integer(item(key, "Proxy seen", units="unixtime", triggers=[away])), "type": "INTERNAL"}


def channels() -> Manifest:
    """Return how many media have no token, which `configure.py` counts: whoever looks for alerts there sees none."""
    told = "A medium of alerts has no Secret with the token: {$ALERTS.SILENT.MEDIA}"
    silent = trigger(told, "last(/@/alerts.silent)>0", "HIGH")
    return calculated("alerts.silent", "Media without a token", "{$ALERTS.SILENT}", triggers=[silent])
