"""What changes of Calico's objects mean. Of pools in the Installation: tigera/operator v1.42.3,
`pkg/controller/ippool/pool_controller.go`.
"""

from generator.components.rule_files import read_rules
from generator.model.change import lower, named

CHANGES = read_rules("calico/changes.yaml", lower, of_the_chart=named("calico"))
