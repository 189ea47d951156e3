"""What changes of Kubernetes' own kinds mean, whoever made the objects.

What may not change was read in the validation of kube-apiserver 1.35.3 (`pkg/apis/<group>/validation`) and is tried on
it, field by field, in `tests/real/test_immutable_fields.py`.
"""

from generator.kinds.access import ACCESS
from generator.kinds.addresses import ADDRESSES
from generator.kinds.admission import ADMISSION
from generator.kinds.bare_pods import BARE_PODS
from generator.kinds.configuration import CONFIGURATION
from generator.kinds.definitions import DEFINITIONS
from generator.kinds.general import GENERAL
from generator.kinds.ingresses import INGRESSES
from generator.kinds.jobs import JOBS
from generator.kinds.leaving import LEAVING
from generator.kinds.limits import LIMITS
from generator.kinds.network import NETWORK
from generator.kinds.openings import OPENINGS
from generator.kinds.policies import POLICIES
from generator.kinds.schedules import SCHEDULES
from generator.kinds.storage import STORAGE
from generator.kinds.syncing import SYNCING
from generator.kinds.workloads import WORKLOADS

RULES = (
    *GENERAL,
    *SYNCING,
    *LEAVING,
    *WORKLOADS,
    *BARE_PODS,
    *JOBS,
    *SCHEDULES,
    *STORAGE,
    *NETWORK,
    *ADDRESSES,
    *INGRESSES,
    *POLICIES,
    *ACCESS,
    *CONFIGURATION,
    *LIMITS,
    *ADMISSION,
    *DEFINITIONS,
    *OPENINGS,
)
