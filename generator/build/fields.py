"""The same as `generator.model.fields`."""

from generator.model.fields import Path as Path
from generator.model.fields import amount as amount
from generator.model.fields import dig as dig
from generator.model.fields import existing as existing
from generator.model.fields import mapping as mapping
from generator.model.fields import sequence as sequence
from generator.model.fields import spots as spots
from generator.model.fields import walk as walk
