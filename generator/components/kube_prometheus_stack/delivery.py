"""What Prometheus alerts of Argo CD's Applications and of certificates. Zabbix knows nothing of either, so these rules
are there beside it as well.
"""

from collections.abc import Iterator

from generator.components.alerting import Rule, alert, group, grown
from generator.components.component import Manifest
from generator.model.cluster import Cluster

APPLICATION = "Application {{ $labels.name }}"
LOOK = "`gen status` tells why"
CERTIFICATE = "Certificate {{ $labels.name }} in {{ $labels.namespace }}"


def applications(cluster: Cluster, namespace: str) -> Manifest:
    """Return the rules on Applications (Argo CD v3.5.3: `controller/metrics/metrics.go`)."""
    return group("applications", namespace, [*_state(), *_out_of_sync(cluster), _sync_failed()])


def _state() -> Iterator[Rule]:
    """Yield rules on their state. A sync of ours that fails is tried again for ever, which Argo CD calls running, and
    no counter tells.
    """
    ill = f"{APPLICATION} is {{{{ $labels.health_status }}}}: {LOOK}"
    long = f"The sync of {APPLICATION} has not ended for an hour; it is tried again and again, or waits: {LOOK}"
    degraded = 'max by (name, health_status) (argocd_app_info{health_status=~"Degraded|Missing"})'
    yield alert("ApplicationDegraded", "warning", ill, degraded, "15m")
    yield alert("ApplicationSyncEndless", "warning", long, 'max by (name) (argocd_app_info{operation="sync"})', "1h")


def _out_of_sync(cluster: Cluster) -> Iterator[Rule]:
    """Yield the rule on what differs from Git. What is synced by hand, or at its times alone, may until then."""
    windows = cluster.gitops.windows
    if any(window.everywhere for window in windows):
        return
    timed: dict[str, set[str]] = {
        "project": {tier for window in windows for tier in window.tiers},
        "name": {component for window in windows for component in window.components},
    }
    others = "".join(f',{label}!~"{"|".join(sorted(names))}"' for label, names in timed.items() if names)
    expr = f'max by (name) (argocd_app_info{{sync_status="OutOfSync",autosync_enabled="true",operation=""{others}}})'
    summary = f"{APPLICATION} has differed from Git for an hour, and nothing syncs it: {LOOK}, `gen drift` what differs"
    yield alert("ApplicationOutOfSync", "warning", summary, expr, "1h")


def _sync_failed() -> Rule:
    """Told is of an hour, and for as long as the Application is not in sync."""
    metric = 'argocd_app_sync_total{phase=~"Error|Failed",dry_run="false"}'
    expr = f'sum by (name) {grown(metric, "1h")} > 0 and on (name) argocd_app_info{{sync_status!="Synced"}}'
    return alert("ApplicationSyncFailed", "warning", f"A sync of {APPLICATION} failed: {LOOK}", expr)


def certificates(_cluster: Cluster, namespace: str) -> Manifest:
    """Return the rules on cert-manager's certificates (v1.21: `internal/collectors/certificate_collector.go`). It
    renews them long before they end; one that it never renews has 0 for a time.
    """
    of = "by (namespace, name)"
    unready = f'max {of} (certmanager_certificate_ready_status{{condition="True"}}) == 0'
    renewal = f"max {of} (certmanager_certificate_renewal_timestamp_seconds)"
    look = "`kubectl describe certificate` and its CertificateRequests tell why"
    late = f"{CERTIFICATE} should have been renewed a day ago, and ends at its time: {look}"
    rules = [
        alert("CertificateNotReady", "warning", f"{CERTIFICATE} is not ready: {look}", unready, "15m"),
        alert("CertificateNotRenewed", "critical", late, f"time() - ({renewal} > 0) > 86400"),
    ]
    return group("certificates", namespace, rules)
