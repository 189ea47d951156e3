"""Network policies that come where nobody knows what runs."""

from generator.model.change import Beside, FieldChange, ObjectChange


def is_unseen(change: ObjectChange, _field: FieldChange, beside: Beside) -> bool:
    """Tell whether nobody knows what runs where an object comes."""
    return beside.knows_nothing_of(change.namespace)


UNSEEN = (
    "nothing that runs in its namespace was built here: the first policy that selects a pod shuts it for everything "
    "that none allows"
)
"""What is said of a network policy that comes where nobody knows what runs, and what to do about that."""
VENDOR = "vendor the chart whose pods it is for (`gen vendor`) and compare again, or take it for an outage"
