"""Where the programs come from: the one build fixture.

The environment says the way (``nearfar/site/environments.py``): CMake, Spack, a prefix or a container's image; of an environment that no
nearfar file describes a module may bring them, else its compilers build them. Builds are kept and reused, by ``setup/build`` and by Spack:
asking again costs next to nothing. The machine that ReFrame runs on builds, or a job with ``-S programs.build_locally=0``.
"""

import os
import shlex
import sys
from dataclasses import replace
from pathlib import Path

import reframe as rfm
import reframe.utility.sanity as sn
from reframe.core.builtins import run_after, run_before, sanity_function, variable
from reframe.core.exceptions import ReframeError, SanityError

from nearfar.base import NearfarError, places
from nearfar.run import spack
from nearfar.verdict import BuildProvenance, build_provenance, case_files

from . import session

#: The C++ compiler of an environment that names none, as Cray's wrappers are called: most systems have no such program.
REFRAMES_DEFAULT = "CC"


class programs(rfm.CompileOnlyRegressionTest):
    """The folder of nearfar's programs, for one partition and environment."""

    #: The folder, once the fixture has run; empty on partitions that measure nothing.
    #:
    #: :type: str
    #: :default: ``''``
    folder = variable(str, value="", loggable=True)

    build_system = "CustomBuild"
    build_locally = True
    #: Where the programs came from, in words.
    origin = ""
    #: Folders that a case puts before its PATH: the programs', and those of the MPI that they were built with.
    path = ()

    @property
    def environment(self):
        """The site's description of the programming environment."""
        return session.system().environments[self.current_environ.name]

    @property
    def _named(self):
        """A folder of ready-made programs that stands above every environment."""
        return os.environ.get("NEARFAR_PROGRAMS")

    @property
    def container(self):
        """The image that holds the programs, or None."""
        return None if self._named else self.environment.container

    @property
    def _nothing_to_build(self):
        return "modelled" in self.current_partition.features

    @property
    def _through_spack(self):
        return self.environment.spack and not self._named and not self._nothing_to_build

    @run_after("setup")
    def choose_the_build_system(self):
        """ReFrame's own for Spack, where Spack has something to do: solved, in a folder that is kept between runs."""
        if not self._through_spack:
            return
        try:
            self._spack = spack.find()
            features = self.current_partition.features
            self.solved = spack.solve(self._spack, self.environment, features, self.current_system.name)
        except NearfarError as error:
            raise ReframeError(str(error)) from None
        self.spack_builds = not self.solved.installed
        if self.spack_builds:
            self.build_system = "Spack"

    @run_before("compile")
    def ask_for_the_folder(self):
        if self._through_spack and self.spack_builds:
            self.build_system.environment = str(self.solved.folder)
            self.build_system.install_opts = ["--only-concrete"]
            self.env_vars["PATH"] = f'"{self._spack.program.parent}:$PATH"'
        else:
            self.build_system.commands = [*self._compilers(), self._command()]

    def _folder(self):
        """The folder, where it is known beforehand."""
        if self._through_spack:
            return str(self.solved.programs)
        prefix = self.environment.prefix and str(self.environment.prefix / "bin")
        return self._named or prefix or (self.container.programs if self.container else None)

    def _compilers(self):
        """Lines that hand over the compilers of an environment that ReFrame alone describes."""
        named = self.environment.reframe.get("cxx")
        if self._nothing_to_build or self._folder() or not named:
            return []
        lines = [f"export CUDACXX={shlex.quote(self.environment.reframe['nvcc'])}"]
        if named == REFRAMES_DEFAULT:
            return [*lines, f"if command -v {named} >&2; then export CXX={named} MPICXX='mpicxx mpic++ {named}'; fi"]
        program = shlex.quote(named)
        complaint = shlex.quote(f"nearfar: environment '{self.current_environ.name}': no compiler {named}")
        return [*lines, f"command -v {program} >&2 || {{ echo {complaint} >&2; exit 2; }}", f"export CXX={program}"]

    def _command(self):
        """What prints the folder."""
        if self._nothing_to_build:
            return "true"
        if folder := self._folder():
            return shlex.join(["printf", "%s\\n", folder])
        setup = str(places.in_checkout("setup/build", "building the programs"))
        build = shlex.join([sys.executable, setup, "--print"])
        if "cxx" not in self.environment.reframe:
            return build
        # What the checkout built may be on the PATH too, and be old.
        own = shlex.quote(str(places.programs_directory().parent))
        return f'found=$(command -v nearfar-copy || true); case $found in "" | {own}/*) {build};; *) dirname "$found";; esac'

    @sanity_function
    def folder_is_there(self):
        """The programs are where the build says, and the run keeps how they came."""
        if self._nothing_to_build:
            return True
        built = self._from_spack() if self._through_spack else self._from_output()
        self.folder = built.folder
        if built.how != "container" and not os.path.isdir(self.folder):
            raise SanityError(f"{built.words}: no such directory: {self.folder or 'none was named'}")
        self.origin = built.words
        build_provenance.keep(case_files.run_directory(), self.current_partition.name, self.current_environ.name, built)
        return True

    def _from_spack(self):
        self.path = self.solved.path
        origin = f"Spack {self.solved.lock.version}, environment {self.solved.folder}"
        return BuildProvenance("spack", origin, str(self.solved.programs), self.solved.lock.packages)

    def _from_output(self):
        folders = sn.extractall(r"^(/.*)$", self.build_stdout, 1).evaluate()
        folder = str(folders[0]) if folders else ""
        if self._named:
            return BuildProvenance("named", f"NEARFAR_PROGRAMS: {self._named}", folder)
        if self.environment.prefix:
            self.path = (folder,)
            return BuildProvenance("prefix", f"prefix {self.environment.prefix} of the site's file", folder)
        if self.container:
            return BuildProvenance(
                "container", f"image {self.container.image}, run by {self.container.runtime}", folder
            )
        modules = self.environment.reframe.get("modules", [])
        if "cxx" in self.environment.reframe and not build_provenance.is_build(Path(folder)):
            self.path = (folder,)
            return BuildProvenance(
                "prefix", f"on the PATH of ReFrame's environment, modules {', '.join(modules)}", folder
            )
        built = build_provenance.of_build(Path(folder))
        return replace(built, words=f"{built.words}, modules {', '.join(modules)}") if modules else built
