"""What changes of Kubernetes' own kinds let somebody do that they could not do before."""

from generator.review.kinds.openings.admission import ADMISSION
from generator.review.kinds.openings.bindings import BINDINGS
from generator.review.kinds.openings.network import NETWORK
from generator.review.kinds.openings.pods import PODS
from generator.review.kinds.openings.rights import RIGHTS
from generator.review.kinds.openings.scripts import SCRIPTS

OPENINGS = (*BINDINGS, *RIGHTS, *ADMISSION, *NETWORK, *PODS, *SCRIPTS)
