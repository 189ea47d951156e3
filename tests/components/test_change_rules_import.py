"""Rules on changes, and the functions by which they look closer, are read by who compares and by nobody else."""

import subprocess
import sys


def test_the_catalogue_imports_no_module_of_rules_on_changes() -> None:
    named = "[name for name in sys.modules if name.endswith(('changes', 'openings'))]"
    program = f"import sys, generator.checks; print({named})"
    ran = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
    assert ran.stdout == "[]\n"
