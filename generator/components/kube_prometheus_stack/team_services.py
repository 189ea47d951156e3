"""What Prometheus reads of teams' own pods: by which label, how much of it, and the alert of what it refuses."""

from generator.components.alerting import alert, group
from generator.components.component import Manifest
from generator.components.kube_prometheus_stack import SCRAPED
from generator.model.cluster import Cluster

NAME = "team-services"
SAMPLES, LABELS, LENGTH = 5000, 30, 200
"""How many values a pod of a team's may tell at once, how many labels each has, and how long theirs may be: with more,
nothing of the pod is kept. Seven of the labels are Prometheus' own: it counts them as well (3.3: `scrape/scrape.go`,
`verifyLabelLimits`). Of each version of a model Triton tells 13 values, or 48 with summaries (server:
`docs/user_guide/metrics.md`; failures by four reasons; core: `metric_model_reporter.cc`), and some 50 of eight GPUs and
the machine: it may have 350 models, which leaves each 230 MB of a GPU with 80 GB, or 100 with summaries.
"""
BODY = "16MB"
"""How much a pod may say at once. Prometheus holds all of it before it counts values: a pod that says something without
end would take its memory, and with it all alerts (3.3: `scrape/scrape.go`, `readResponse`). 5000 values of 3 kB fit.
"""
OF_THE_PLATFORM = (
    ".*:.*|up|ALERTS.*|"
    "(apiserver|argo|argocd|ceph|certmanager|container|DCGM|etcd|kube|kubelet|kueue|loki|minio|node|prometheus|scrape|"
    "volcano|volsync|workqueue)_.*"
)
"""Names that only the platform's own programs may tell, and those of recorded series."""


def team_services(cluster: Cluster, namespace: str) -> Manifest:
    """Watch pods of teams that ask for it. Teams make no monitors themselves: one of theirs could have Prometheus send
    its own token anywhere, and read other namespaces. What a pod tells is its team's alone: names that the platform's
    rules and autoscalers read are dropped, and so is a pod's word on whose a value is.
    """
    return {
        "apiVersion": "monitoring.coreos.com/v1",
        "kind": "PodMonitor",
        "metadata": {"name": NAME, "namespace": namespace},
        "spec": {
            "namespaceSelector": {"matchNames": [team.name for team in cluster.teams]},
            "selector": {"matchLabels": SCRAPED.labels},
            "bodySizeLimit": BODY,
            "sampleLimit": SAMPLES,
            "labelLimit": LABELS,
            "labelValueLengthLimit": LENGTH,
            "podMetricsEndpoints": [
                {
                    "port": SCRAPED.port,
                    "interval": "15s",
                    # Prometheus reaches what teams' pods do not.
                    "followRedirects": False,
                    "metricRelabelings": [
                        {"sourceLabels": ["__name__"], "regex": OF_THE_PLATFORM, "action": "drop"},
                        {"regex": "exported_.*", "action": "labeldrop"},
                    ],
                }
            ],
        },
    }


def metrics_refused(cluster: Cluster, namespace: str) -> Manifest | None:
    """Return the rule on pods that answer and of which nothing is kept; None where there are no teams. Prometheus' own
    counters, which the chart alerts of (`PrometheusScrapeSampleLimitHit`, `PrometheusLabelLimitHit`), name neither pod
    nor team. What it says of each target does: of one above a limit how much it has read, and that it is not `up`
    (3.3: `scrape/scrape.go`), as of one whose text breaks off. Of a pod that does not answer it has read nothing.
    """
    if not cluster.teams:
        return None
    of = f'{{job=~".+/{NAME}"}}'
    summary = (
        "Prometheus keeps nothing that pod {{ $labels.pod }} of team {{ $labels.namespace }} tells. Its page of "
        f"targets says why: more than {SAMPLES} values, {LABELS} labels with its own or {LENGTH} characters in one, "
        "or a text that cannot be read. Replicas do not follow the load by such values"
    )
    refused = f"max by (namespace, pod) (scrape_samples_scraped{of} > 0 and up{of} == 0)"
    return group("team-metrics", namespace, [alert("TeamMetricsRefused", "warning", summary, refused, "10m")])
