"""The Spack installation that a partition and programming environment of a site's file ask for."""

from __future__ import annotations

import os
from collections.abc import Callable, Collection

from nearfar.site import Environment

from . import detected
from .found import Spack
from .installed import Installed, InstallPlan
from .installing import ensure, say
from .site import own_folder, site_of


def install(
    spack: Spack, environment: Environment, features: Collection[str], system: str, agree: Callable[[InstallPlan], bool]
) -> Installed:
    """Install it, at once where nothing changed. Raises ``NearfarError`` as ``ensure`` does.

    CUDA is part of it where the partition's nodes have GPUs (the feature ``gpu``), unless ``NEARFAR_CUDA=none``. The site's own
    packages are those of ``NEARFAR_SPACK_SITE`` or ``systems/SYSTEM/``; where the site names none, those of this machine.
    """
    return ensure(
        spack,
        wants_cuda(features),
        architectures(environment),
        site=site_of() or own_folder(system) or detected.folder(spack, say),
        mirror=os.environ.get("NEARFAR_SPACK_MIRROR") or None,
        agree=agree,
    )


def wants_cuda(features: Collection[str]) -> bool:
    """Whether programs for a partition's nodes have CUDA."""
    return "gpu" in features and os.environ.get("NEARFAR_CUDA") != "none"


def architectures(environment: Environment) -> str | None:
    """What CUDA is compiled for: the environment's word, else ``NEARFAR_CUDA_ARCH``, else the site's or the recipe's own."""
    return ",".join(environment.cuda_arch) or os.environ.get("NEARFAR_CUDA_ARCH", "").replace(";", ",") or None
