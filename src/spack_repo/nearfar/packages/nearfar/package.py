# SPDX-License-Identifier: Apache-2.0
import os

from spack.package import *
from spack_repo.builtin.build_systems.cmake import CMakePackage
from spack_repo.builtin.build_systems.cuda import CudaPackage


class Nearfar(CMakePackage, CudaPackage):
    """The programs of nearfar, a ReFrame test pack: the rate of every path between host memory and the GPUs of a node, between
    GPUs, and of MPI beside them. The pack itself (checks, site files, reports) runs from a checkout."""

    # Sources come from a checkout or an unpacked release, by `develop:` or `spack develop --path` (docs/deploy.md):
    # the project has no public address yet. `setup/release --home` writes this recipe with address and checksum.
    license("Apache-2.0")

    version("main")
    version("0.1.0")

    variant("mpi", default=True, description="Build the programs that need MPI")

    depends_on("c", type="build")
    depends_on("cxx", type="build")
    depends_on("cmake@3.20:", type="build")
    depends_on("pkgconfig", type="build")
    depends_on("hwloc@2:")
    depends_on("numactl", type="run")
    depends_on("mpi", when="+mpi")
    depends_on("cuda@12.2:", when="+cuda")

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

    def test_cells(self):
        """nearfar-stream starts, and finds the memory of this machine"""
        program = which(self.prefix.bin.join("nearfar-stream"), required=True)
        assert "c0:n0/triad" in program("--list", output=str.split)
