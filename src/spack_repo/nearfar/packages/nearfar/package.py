# SPDX-License-Identifier: Apache-2.0
import os

from spack.package import *
from spack_repo.builtin.build_systems.cmake import CMakePackage
from spack_repo.builtin.build_systems.cuda import CudaPackage
from spack_repo.builtin.build_systems.python import PythonExtension, PythonPipBuilder


class Nearfar(CMakePackage, CudaPackage, PythonExtension):
    """A ReFrame test pack that measures and judges every path of a multi-GPU node: between host memory and GPUs, between GPUs,
    and of MPI beside them."""

    # The project has no public address yet: this is the checkout that the recipe lies in.
    # `setup/release --home` writes address and checksum in its place.
    git = "file://" + os.path.realpath(join_path(__file__, *[".."] * 6))

    license("Apache-2.0")

    version("main")
    version("0.1.0")

    variant("mpi", default=True, description="Build the programs that need MPI")
    variant("pack", default=True, description="Install the command nearfar with its checks and site files")

    skip_modules = ["nearfar.data"]  # checks that only ReFrame imports

    depends_on("c", type="build")
    depends_on("cxx", type="build")
    depends_on("cmake@3.20:", type="build")
    depends_on("pkgconfig", type="build")
    depends_on("hwloc@2:")
    depends_on("numactl", type="run")
    depends_on("mpi", when="+mpi")
    depends_on("cuda@11.8:", when="+cuda")

    # Without polars, which `nearfar history` and `tune` need: 1.30 or newer, and spack-packages has 1.29.
    with when("+pack"):
        extends("python@3.10:", type=("build", "run"))
        depends_on("py-pip", type="build")
        depends_on("py-hatchling@1.26:1", type="build")
        with default_args(type="run"):
            depends_on("hwloc@2:")  # lstopo
            depends_on("reframe@4.10.4:4.10")
            depends_on("py-jinja2@3")
            depends_on("py-pyyaml@5.4:6")
            depends_on("py-jsonschema@4")
            depends_on("py-nvidia-ml-py@12.535:13")
            depends_on("py-argcomplete@3.1:3")
            depends_on("py-clustershell@1.9:1")
            depends_on("py-prometheus-client@0.20:0")

    @property
    def root_cmakelists_dir(self):
        """A release holds the CMake project in src/; `develop:` may name src/ itself."""
        inner = join_path(self.stage.source_path, "src")
        return inner if os.path.exists(join_path(inner, "CMakeLists.txt")) else self.stage.source_path

    @run_before("cmake")
    def configure_afresh(self):
        """The build of a developed checkout is kept, also one that failed: what CMake did not find then must not count."""
        force_remove(join_path(self.build_directory, "CMakeCache.txt"))

    def cmake_args(self):
        args = [
            self.define("NEARFAR_CUDA", "ON" if self.spec.satisfies("+cuda") else "OFF"),
            self.define("NEARFAR_MPI", "ON" if self.spec.satisfies("+mpi") else "OFF"),
            self.define("NEARFAR_TESTS", False),
        ]
        if self.spec.satisfies("+cuda"):
            architectures = self.spec.variants["cuda_arch"].value
            if "none" not in architectures:
                args.append(self.define("NEARFAR_CUDA_ARCHITECTURES", ";".join(architectures)))
        return args

    @run_after("install")
    def install_pack(self):
        if self.spec.satisfies("+pack"):
            PythonPipBuilder(self).install(self, self.spec, self.prefix)

    def setup_run_environment(self, env):
        if self.spec.satisfies("+pack"):
            env.set("NEARFAR_PROGRAMS", self.prefix.bin)

    def test_cells(self):
        """nearfar-copy starts, and finds the memory of this machine"""
        program = which(self.prefix.bin.join("nearfar-copy"), required=True)
        assert "c0:n0/triad" in program("--set", "host_memory_check", "--list", output=str.split)

    def test_predict(self):
        """nearfar predicts the rates of a described node"""
        if self.spec.satisfies("~pack"):
            raise SkipTest("the command nearfar is installed by +pack")
        program = which(self.prefix.bin.nearfar, required=True)
        assert "GB/s" in program("predict", "--node", "summit", "n0:g0", output=str.split)
