"""What changes of Kubernetes' own kinds mean, whoever made the objects.

What may not change was read in the validation of kube-apiserver 1.35.3 (`pkg/apis/<group>/validation`) and is tried on
it, field by field, in `tests/real/test_immutable_fields.py`.
"""

from generator.review.kinds.access import ACCESS
from generator.review.kinds.addresses import ADDRESSES
from generator.review.kinds.admission import ADMISSION
from generator.review.kinds.bare_pods import BARE_PODS
from generator.review.kinds.configuration import CONFIGURATION
from generator.review.kinds.definitions import DEFINITIONS
from generator.review.kinds.general import GENERAL
from generator.review.kinds.ingresses import INGRESSES
from generator.review.kinds.jobs import JOBS
from generator.review.kinds.leaving import LEAVING
from generator.review.kinds.limits import LIMITS
from generator.review.kinds.network import NETWORK
from generator.review.kinds.openings import OPENINGS
from generator.review.kinds.policies import POLICIES
from generator.review.kinds.schedules import SCHEDULES
from generator.review.kinds.storage import STORAGE
from generator.review.kinds.syncing import SYNCING
from generator.review.kinds.workloads import WORKLOADS

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
