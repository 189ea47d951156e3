"""What exporters answer, in their forms, as far as dashboards ask for it: `@` is a number that grows.

dcgm-exporter 4.6 (internal/pkg/rendermetrics), kube-state-metrics 2, kubelet 1.35, node-exporter 1.x
(collector/infiniband_linux.go, uname_linux.go), Ceph's manager (module prometheus), MinIO in version 2
(docs/metrics/prometheus/list.md), Kueue v0.18.3, Volcano v1.14.1, Argo CD v3.5.3, Argo Workflows v4.0.2 and VolSync
v0.16.0.
"""

from typing import NamedTuple

from generator.components.kube_prometheus_stack.boards import OF_POOL


class Exporter(NamedTuple):
    """What one answers, the labels of where Prometheus finds it, and whether its own labels win."""

    text: str
    labels: dict[str, str]
    honor: bool = False


_OF_GPU = 'gpu="0",UUID="GPU-a",pci_bus_id="0000:17:00.0",device="nvidia0",modelName="NVIDIA A100",Hostname="{}"{}'
_WHOLE = _OF_GPU.format("a100-1", ',container="main",namespace="speech",pod="train"')
_PART = _OF_GPU.format("a100-5", ',GPU_I_PROFILE="2g.20gb",GPU_I_ID="3",container="main",namespace="assistant",pod="x"')
_DCGM = {
    "DCGM_FI_DEV_GPU_TEMP": 61,
    "DCGM_FI_DEV_MEMORY_TEMP": 70,
    "DCGM_FI_DEV_POWER_USAGE": 301.5,
    "DCGM_FI_DEV_FB_USED": 30000,
    "DCGM_FI_DEV_FB_FREE": 10000,
    "DCGM_FI_DEV_UNCORRECTABLE_REMAPPED_ROWS": 1,
    "DCGM_FI_DEV_ROW_REMAP_FAILURE": 1,
    "DCGM_FI_PROF_GR_ENGINE_ACTIVE": 0.9,
    "DCGM_FI_PROF_PIPE_TENSOR_ACTIVE": 0.4,
    "DCGM_FI_PROF_DRAM_ACTIVE": 0.3,
}
_XID = ',err_code="79",err_msg="GPU has fallen off the bus"'
_PORT = 'device="mlx5_0",port="1"'
_COUNTED = (
    *("port_data_received_bytes", "port_data_transmitted_bytes", "port_transmit_wait", "port_errors_received"),
    *("port_discards_transmitted", "symbol_error", "local_link_integrity_errors", "link_downed", "link_error_recovery"),
)
_POOL = 'pool_id="1"'
_SET = 'pool="0",set="0",server="minio-0:9000"'
_QUEUE = 'cluster_queue="speech",replica_role="leader"'
_QUOTA = 'cohort="teams",cluster_queue="speech",flavor="a100",resource="nvidia.com/gpu",replica_role="leader"'
_APP = 'namespace="argocd",name="kueue",project="scheduling",dest_server="https://kubernetes.default.svc"'
_VOLUME = 'obj_name="work",obj_namespace="speech",role="source",method="restic"'


def _lines(*rows: tuple[str, str, object]) -> str:
    return "".join(f"{name}{{{labels}}} {value}\n" for name, labels, value in rows)


def _histogram(name: str, labels: str, unit: float = 1) -> str:
    bounds = [(str(unit), "@"), (str(10 * unit), "@"), ("+Inf", "@")]
    return _lines(*((f"{name}_bucket", f'{labels},le="{le}"'.lstrip(","), count) for le, count in bounds))


EXPORTERS = {
    "dcgm": Exporter(
        _lines(
            *((name, labels, value) for name, value in _DCGM.items() for labels in (_WHOLE, _PART)),
            ("DCGM_FI_DEV_XID_ERRORS", _WHOLE + _XID, 79),
            ("DCGM_FI_DEV_GPU_UTIL", _WHOLE, 99),
        ),
        {"namespace": "gpu-operator", "pod": "nvidia-dcgm-exporter-x"},
    ),
    "state": Exporter(
        _lines(
            ("kube_node_labels", f'node="a100-5",{OF_POOL}="a100"', 1),
            ("kube_node_status_allocatable", 'node="a100-5",resource="nvidia_com_mig_2g_20gb",unit="integer"', 12),
            (
                "kube_pod_container_resource_requests",
                'namespace="assistant",pod="x",uid="1",container="main",node="a100-5",resource="nvidia_com_mig_2g_20gb"',
                1,
            ),
            ("kube_pod_status_phase", 'namespace="assistant",pod="x",uid="1",phase="Running"', 1),
        ),
        {"job": "kube-state-metrics"},
        honor=True,
    ),
    "kubelet": Exporter(
        _lines(("kubelet_volume_stats_used_bytes", 'namespace="speech",persistentvolumeclaim="work"', 2**30)),
        {},
        honor=True,
    ),
    "node": Exporter(
        _lines(
            ("node_uname_info", 'nodename="a100-1",sysname="Linux",machine="x86_64"', 1),
            ("node_infiniband_state_id", _PORT, 4),
            ("node_infiniband_state_id", 'device="mlx5_1",port="1"', 2),
            ("node_infiniband_rate_bytes_per_second", _PORT, 2.5e10),
            *((f"node_infiniband_{name}_total", _PORT, "@") for name in _COUNTED),
        ),
        {"instance": "10.60.0.21:9100", "job": "node-exporter"},
    ),
    "ceph": Exporter(
        _lines(
            ("ceph_health_status", "", 1),
            ("ceph_health_detail", 'name="OSD_DOWN",severity="HEALTH_WARN"', 1),
            ("ceph_mon_quorum_status", 'ceph_daemon="mon.a"', 1),
            ("ceph_osd_metadata", 'ceph_daemon="osd.0",hostname="ceph-1",device_class="nvme"', 1),
            *((f"ceph_osd_{name}", 'ceph_daemon="osd.0"', value) for name, value in (("up", 0), ("stat_bytes", 100))),
            *((f"ceph_osd_{name}", 'ceph_daemon="osd.0"', 60) for name in ("stat_bytes_used", "commit_latency_ms")),
            *((f"ceph_pg_{name}", _POOL, 32) for name in ("total", "active", "clean", "degraded")),
            ("ceph_cluster_by_class_total_bytes", 'device_class="nvme"', 1000),
            ("ceph_cluster_by_class_total_used_raw_bytes", 'device_class="nvme"', 600),
            ("ceph_pool_metadata", f'{_POOL},name="rbd",type="replicated"', 1),
            *((f"ceph_pool_{name}", _POOL, "@") for name in ("rd", "wr", "rd_bytes", "wr_bytes")),
            *((f"ceph_pool_{name}", _POOL, 0.4) for name in ("percent_used", "stored")),
        ),
        {"namespace": "rook-ceph", "job": "rook-ceph-mgr"},
    ),
    "minio": Exporter(
        _lines(
            *((f"minio_cluster_{name}", 'server="minio-0:9000"', 1) for name in ("health_status", "usage_total_bytes")),
            *((f"minio_cluster_{name}_offline_total", 'server="minio-0:9000"', 0) for name in ("drive", "nodes")),
            *(
                (f"minio_cluster_capacity_usable_{name}_bytes", 'server="minio-0:9000"', 9)
                for name in ("free", "total")
            ),
            ("minio_cluster_health_erasure_set_online_drives", _SET, 8),
            ("minio_cluster_health_erasure_set_write_quorum", _SET, 5),
            ("minio_cluster_health_erasure_set_healing_drives", _SET, 0),
            *(
                (f"minio_node_drive_{name}_bytes", 'drive="/export-0",server="minio-0:9000"', 7)
                for name in ("used", "total")
            ),
            *(
                (f"minio_s3_requests_{name}total", 'api="getobject",server="minio-0:9000"', "@")
                for name in ("", "4xx_errors_", "5xx_errors_")
            ),
            *((f"minio_s3_traffic_{name}_bytes", 'server="minio-0:9000"', "@") for name in ("received", "sent")),
        ),
        {"namespace": "minio", "job": "minio"},
    ),
    "kueue": Exporter(
        _lines(
            ("kueue_pending_workloads", f'status="inadmissible",{_QUEUE}', 2),
            ("kueue_admitted_active_workloads", _QUEUE, 3),
            ("kueue_cluster_queue_status", f'status="active",{_QUEUE}', 0),
            (
                "kueue_evicted_workloads_total",
                f'reason="Deactivated",underlying_cause="RequeuingLimitExceeded",priority_class="normal",{_QUEUE}',
                "@",
            ),
            (
                "kueue_preempted_workloads_total",
                'preempting_cluster_queue="search",reason="InCohortReclamation",replica_role="leader"',
                "@",
            ),
            ("kueue_cluster_queue_resource_usage", _QUOTA, 8),
            ("kueue_cluster_queue_nominal_quota", _QUOTA, 16),
            ("kueue_cluster_queue_resource_pending", f'resource="nvidia.com/gpu",{_QUEUE}', 4),
        )
        + _histogram("kueue_admission_wait_time_seconds", f'priority_class="normal",{_QUEUE}')
        + _histogram("kueue_admitted_until_ready_wait_time_seconds", f'priority_class="normal",{_QUEUE}'),
        {"namespace": "kueue-system", "job": "kueue"},
    ),
    "volcano": Exporter(
        _lines(
            ("volcano_unschedule_job_count", "", 1),
            ("volcano_unschedule_task_count", 'job_id="speech/podgroup-1"', 8),
            ("volcano_pod_preemption_victims", "", 0),
            ("volcano_total_preemption_attempts", "", "@"),
            *(
                (f"volcano_queue_pod_group_{name}_count", 'queue_name="default"', 1)
                for name in ("pending", "inqueue", "running", "unknown")
            ),
        )
        + _histogram("volcano_e2e_scheduling_latency_milliseconds", "")
        + _histogram("volcano_task_scheduling_latency_milliseconds", ""),
        {"namespace": "volcano-system", "job": "volcano-scheduler"},
    ),
    "argocd": Exporter(
        _lines(
            (
                "argocd_app_info",
                f'{_APP},autosync_enabled="true",sync_status="OutOfSync",health_status="Degraded",operation=""',
                1,
            ),
            ("argocd_app_sync_total", f'{_APP},phase="Failed",dry_run="false"', "@"),
            ("argocd_git_request_total", 'repo="https://git.example.org",request_type="fetch"', "@"),
            ("argocd_git_fetch_fail_total", 'repo="https://git.example.org"', "@"),
        )
        + _histogram("argocd_app_reconcile", 'namespace="argocd",dest_server="https://kubernetes.default.svc"'),
        {"namespace": "argocd", "job": "argocd-metrics"},
    ),
    "argo": Exporter(
        _lines(
            ("argo_workflows_gauge", 'phase="Running"', 1),
            ("argo_workflows_total_count", 'phase="Failed",namespace="argo"', "@"),
            ("argo_workflows_pods_gauge", 'phase="Pending"', 1),
            ("argo_workflows_error_count", 'cause="OperationPanic"', "@"),
            ("argo_workflows_queue_depth_gauge", 'queue_name="workflow_queue"', 0),
            ("argo_workflows_pod_pending_count", 'reason="Unschedulable",namespace="argo"', "@"),
            ("argo_workflows_operation_last_success_seconds", 'operation="gpu-care"', 1.7e9),
            ("argo_workflows_operation_last_failure_seconds", 'operation="gpu-care"', 1.7e9),
            ("argo_workflows_backup_last_success_seconds", 'backup="datasets"', 1.7e9),
            ("argo_workflows_drill_last_success_seconds", 'backup="datasets"', 1.7e9),
            ("argo_workflows_drill_good", 'backup="datasets"', 0),
        ),
        {"namespace": "argo", "job": "workflow-controller-metrics"},
    ),
    "volsync": Exporter(
        _lines(
            ("volsync_volume_out_of_sync", _VOLUME, 1),
            ("volsync_missed_intervals_total", _VOLUME, "@"),
            ("volsync_sync_duration_seconds", f'{_VOLUME},quantile="0.9"', 12.5),
        ),
        {"namespace": "volsync-system", "job": "volsync-metrics"},
    ),
}
