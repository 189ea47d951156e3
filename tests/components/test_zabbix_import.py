"""Zabbix is many modules: only rendering pays for them."""

import subprocess
import sys


def test_the_catalogue_does_not_import_what_only_rendering_needs() -> None:
    program = "import sys, generator.components; print('generator.components.zabbix.install' in sys.modules)"
    ran = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
    assert ran.stdout == "False\n"
