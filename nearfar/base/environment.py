"""The environment variables that a user may set; docs/reference/commands.md prints them."""

from __future__ import annotations

#: Meaning and default of each.
VARIABLES = {
    "NEARFAR_SITE": ("the site's own directories, separated by `:`, before the shipped `site/`", "none"),
    "NEARFAR_SYSTEM": ("the system, whichever file claims this host", "by host name, then product"),
    "NEARFAR_STATE": (
        "where `build/` and `reports/` are, an absolute path",
        "the checkout, else `$XDG_STATE_HOME/nearfar`",
    ),
    "NEARFAR_HISTORY": ("where the history of all runs is kept", "`history` among the reports"),
    "NEARFAR_METRICS": ("directory for Prometheus' text files", "none is written"),
    "NEARFAR_WAIT": ("seconds to wait for another run on this machine", "60; 900 under your own ReFrame"),
    "NEARFAR_PROGRAMS": ("directory of built programs, in place of a build", "`build/bin`"),
    "NEARFAR_PYTHON": ("the Python of `./validate` and `./run-tests`", "the newest `python3.x` on PATH"),
    "NEARFAR_CUDA": ("the CUDA compiler: `auto`, `system`, `wheels` or `none`", "`auto`"),
    "NEARFAR_CUDA_ARCH": ("compute capabilities to build for, such as `90`", "Volta to Blackwell"),
    "NEARFAR_MPI": ("`none`: build without MPI", "`auto`"),
    "MPICXX": ("the MPI compiler", "`mpicxx` on PATH"),
    "NEARFAR_MPIRUN": ("the `mpirun` that starts ranks", "the one beside the MPI library, else on PATH"),
    "NEARFAR_OSU": ("prefix of an installation of OSU's benchmarks", "found on PATH"),
    "NEARFAR_NCCL_TESTS": ("directory of nccl-tests", "found on PATH"),
    "NEARFAR_SPACK_SITE": ("directory of the site's Spack configuration", "`site/systems/SYSTEM/`"),
    "NEARFAR_SPACK_MPI": ("Spack's name of the MPI", "`openmpi`"),
    "NEARFAR_SPACK_TREE": ("where Spack installs packages", "`build/spack/tree`"),
}
