# SPDX-License-Identifier: Apache-2.0
import os

from spack.package import *
from spack_repo.builtin.packages.reframe.package import Reframe as BuiltinReframe


class Reframe(BuiltinReframe):
    __doc__ = BuiltinReframe.__doc__

    # spack-packages has no 4.10 yet.
    version(
        "4.10.4",
        sha256="0d3b0246664fa5b98dc50deed239282300fd74684c607f6b23b5484b924e988b",
        url="https://files.pythonhosted.org/packages/27/9b/904f1eadd81d223e5e3a131ba05b6776e5aeff3353e90a43a6920533bc85/reframe_hpc-4.10.4.tar.gz",
    )

    depends_on("py-clustershell@1.9:1", when="@4.10:", type="run")
    depends_on("py-fasteners", when="@4.10:", type="run")

    def install(self, spec, prefix):
        super().install(spec, prefix)
        program = prefix.bin.reframe
        if not os.path.exists(program):  # PyPI's archive is without bin/
            mkdirp(prefix.bin)
            with open(program, "w") as file:
                file.write("#!/usr/bin/env python3\nfrom reframe.frontend.cli import main\n\nmain()\n")
            set_executable(program)
