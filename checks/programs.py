"""Where the programs come from: the one build fixture.

The build itself is kept and reused by ``setup/build``; this only asks for its folder, which costs nothing where the
programs of the present sources exist. Jobs never build.
"""

import os
import sys

import reframe as rfm
import reframe.utility.sanity as sn
from reframe.core.builtins import run_before, sanity_function, variable

from nearfar.files import CHECKOUT


class programs(rfm.CompileOnlyRegressionTest):
    """The folder of nearfar's programs for the present sources and toolchain."""

    #: The folder, once the fixture has run; empty on partitions that measure nothing.
    #:
    #: :type: str
    #: :default: ``''``
    folder = variable(str, value="", loggable=True)

    build_system = "CustomBuild"
    build_locally = True

    @property
    def _modelled(self):
        return "modelled" in self.current_partition.features

    @run_before("compile")
    def ask_for_the_folder(self):
        """``NEARFAR_PROGRAMS`` names a folder of ready-made programs (a Spack view, a module)."""
        command = f"'{sys.executable}' '{CHECKOUT}/setup/build' --print"
        if os.environ.get("NEARFAR_PROGRAMS"):
            command = f"printf '%s\\n' '{os.environ['NEARFAR_PROGRAMS']}'"
        self.build_system.commands = ["true" if self._modelled else command]

    @sanity_function
    def folder_is_there(self):
        """The last line of the output is the folder."""
        if self._modelled:
            return True
        found = sn.extractall(r"^(/.*)$", self.build_stdout, 1).evaluate()
        self.folder = str(found[0]) if found else ""
        named = os.environ.get("NEARFAR_PROGRAMS")
        words = f"NEARFAR_PROGRAMS: {named}: no such directory" if named else "setup/build named no directory"
        return sn.assert_true(os.path.isdir(self.folder), words)
