"""What changes of Kubernetes' own kinds let somebody do that they could not do before."""

from generator.review.kinds.openings.rights import RIGHTS

OPENINGS = (*RIGHTS,)
