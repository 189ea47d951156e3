"""What it means that queues, flavors and classes come, go, or become others, as Kueue acts on it.

Read in Kueue v0.18.3: `pkg/controller/core`, and the rules of its CRDs.
"""

from generator.components.kueue import PRIORITY
from generator.components.kueue import QUEUE as QUEUE_NAME
from generator.model.change import ANY, ChangeRule, Effect, FieldChange, ObjectChange, value_at

SOURCE = "https://github.com/kubernetes-sigs/kueue/blob/v0.18.3"
QUEUE = "kueue.x-k8s.io/ClusterQueue"
LOCAL_QUEUE = "kueue.x-k8s.io/LocalQueue"
FLAVOR = "kueue.x-k8s.io/ResourceFlavor"
CLASS = "kueue.x-k8s.io/WorkloadPriorityClass"


def placed_by_topology(change: ObjectChange, _field: FieldChange) -> bool:
    """Tell whether a flavor had a topology, which the CRD fixes with what selects its nodes."""
    return value_at(change.old, "spec.topologyName") is not None


def below_another(change: ObjectChange, _field: FieldChange) -> bool:
    """Tell whether a cohort was one below another, as a department's is."""
    return bool(value_at(change.old, "spec.parentName"))


OBJECT_CHANGES = (
    ChangeRule(
        code="GEN-CHG-520",
        kinds=(QUEUE,),
        on="removed",
        effect=Effect.OUTAGE,
        reason="no job starts through it any more; it goes when the last one that runs has ended, and its Application "
        "waits for that",
        instead="hold it (`stopPolicy: Hold`) and take it out when nothing runs",
        link=f"{SOURCE}/pkg/controller/core/clusterqueue_controller.go",
    ),
    ChangeRule(
        code="GEN-CHG-521",
        kinds=(LOCAL_QUEUE,),
        on="removed",
        effect=Effect.OUTAGE,
        reason="jobs that wait in it, or name it later, never start; those that run go on",
        instead="hold it (`stopPolicy: Hold`) and take it out when nothing waits",
        link=f"{SOURCE}/pkg/controller/core/workload_controller.go",
    ),
    ChangeRule(
        code="GEN-CHG-522",
        kinds=(QUEUE, LOCAL_QUEUE),
        on="renamed",
        effect=Effect.OUTAGE,
        reason="jobs that wait in the former one never start; those that run go on, and hold it until they end",
        instead="make the new one beside it, have the jobs name it, and take the former one out later",
        link=f"{SOURCE}/pkg/controller/core/clusterqueue_controller.go",
    ),
    ChangeRule(
        code="GEN-CHG-523",
        kinds=(LOCAL_QUEUE,),
        paths=("spec.clusterQueue",),
        effect=Effect.IMPOSSIBLE,
        reason="the API server refuses it: a LocalQueue stays with its ClusterQueue",
        instead="a LocalQueue of another name; or delete this one by `kubectl` and sync, while nothing waits in it",
        link=f"{SOURCE}/apis/kueue/v1beta2/localqueue_types.go",
    ),
    ChangeRule(
        code="GEN-CHG-385",
        kinds=(QUEUE,),
        paths=("spec.concurrentAdmissionPolicy",),
        effect=Effect.IMPOSSIBLE,
        reason="Kueue's webhook refuses it: how a queue lets jobs in at once is fixed when it is made",
        instead="a queue of another name, and LocalQueues that name it",
        link=f"{SOURCE}/pkg/webhooks/clusterqueue_webhook.go",
    ),
    ChangeRule(
        code="GEN-CHG-524",
        kinds=(FLAVOR,),
        on="removed",
        effect=Effect.OUTAGE,
        reason="no job starts on its nodes through Kueue; while a queue names it, it stays, and its Application waits",
        instead="take it out of every queue first",
        link=f"{SOURCE}/pkg/controller/core/resourceflavor_controller.go",
    ),
    ChangeRule(
        code="GEN-CHG-525",
        kinds=(FLAVOR,),
        on="renamed",
        effect=Effect.OUTAGE,
        reason="jobs on the former flavor run on, counted no more; new ones start once nodes carry the new label",
        instead="give the nodes their new labels first, and hold the queues meanwhile",
        link=f"{SOURCE}/pkg/controller/core/resourceflavor_controller.go",
    ),
    ChangeRule(
        code="GEN-CHG-526",
        kinds=(FLAVOR,),
        paths=("spec.nodeLabels", "spec.tolerations", "spec.topologyName"),
        effect=Effect.IMPOSSIBLE,
        reason="the API server refuses it: a flavor with a topology keeps that, its nodes' labels and its tolerations",
        instead="a flavor of another name",
        link=f"{SOURCE}/apis/kueue/v1beta2/resourceflavor_types.go",
        when=placed_by_topology,
    ),
    ChangeRule(
        code="GEN-CHG-527",
        kinds=(FLAVOR,),
        paths=("spec",),
        effect=Effect.NONE,
        reason="jobs that run stay where they are; those that are let in from now on are placed by it",
        link=f"{SOURCE}/apis/kueue/v1beta2/resourceflavor_types.go",
    ),
    ChangeRule(
        code="GEN-CHG-528",
        kinds=("kueue.x-k8s.io/Topology", "kueue.x-k8s.io/AdmissionCheck"),
        paths=("spec.levels", "spec.controllerName"),
        effect=Effect.IMPOSSIBLE,
        reason="the API server refuses it: levels and controllers are fixed",
        instead="one of another name, and flavors or queues that name it",
        link=f"{SOURCE}/apis/kueue/v1beta2/topology_types.go",
    ),
    ChangeRule(
        code="GEN-CHG-529",
        kinds=(CLASS,),
        paths=("value",),
        effect=Effect.PREEMPTS,
        reason="Kueue gives all jobs of the class the new priority at once, also those that run: others may stop now "
        "which could not before",
        instead="a class of another name, for the jobs to come",
        link=f"{SOURCE}/pkg/controller/core/workloadpriorityclass_controller.go",
    ),
    ChangeRule(
        code="GEN-CHG-530",
        kinds=(CLASS,),
        on="removed",
        effect=Effect.OUTAGE,
        reason="jobs that name it from now on never start: Kueue makes no Workload of them",
        instead="keep it until nobody names it",
        link="https://kueue.sigs.k8s.io/docs/concepts/workload_priority_class/",
    ),
    ChangeRule(
        code="GEN-CHG-531",
        kinds=(CLASS,),
        on="renamed",
        effect=Effect.OUTAGE,
        reason="jobs that name the former class from now on never start: Kueue makes no Workload of them",
        instead="make the new one beside it, and take the former one out when nobody names it",
        link="https://kueue.sigs.k8s.io/docs/concepts/workload_priority_class/",
    ),
    ChangeRule(
        code="GEN-CHG-538",
        kinds=("kueue.x-k8s.io/Cohort",),
        on="removed",
        effect=Effect.PREEMPTS,
        reason="a queue that still names it neither borrows from those of its parent nor lends to them; of those that "
        "leave it, jobs on what they borrowed from each other may be stopped for others",
        instead="when little is borrowed",
        link=f"{SOURCE}/apis/kueue/v1beta2/cohort_types.go",
        when=below_another,
    ),
    ChangeRule(
        code="GEN-CHG-532",
        kinds=("kueue.x-k8s.io/Cohort",),
        on="removed",
        effect=Effect.PREEMPTS,
        reason="what it owned itself is nobody's any more; jobs that run on it may be stopped for those who own theirs",
        link=f"{SOURCE}/apis/kueue/v1beta2/cohort_types.go",
    ),
    ChangeRule(
        code="GEN-CHG-738",
        kinds=(ANY,),
        paths=(f"metadata.labels[{QUEUE_NAME}]", f"metadata.labels[{PRIORITY}]"),
        effect=Effect.UNKNOWN,
        reason="Kueue reads it of jobs, and of what makes pods: one that waits goes to another queue or another place "
        "in it; of one that runs it may be refused, and without a queue it may start past all of them",
        instead="make it anew with the other label",
        link="https://kueue.sigs.k8s.io/docs/reference/labels-and-annotations/",
    ),
)
