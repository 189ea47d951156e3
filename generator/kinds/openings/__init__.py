"""What changes of Kubernetes' own kinds let somebody do that they could not do before."""

from generator.kinds.openings.admission import ADMISSION
from generator.kinds.openings.bindings import BINDINGS
from generator.kinds.openings.network import NETWORK
from generator.kinds.openings.pods import PODS
from generator.kinds.openings.rights import RIGHTS
from generator.kinds.openings.scripts import SCRIPTS

OPENINGS = (*BINDINGS, *RIGHTS, *ADMISSION, *NETWORK, *PODS, *SCRIPTS)
