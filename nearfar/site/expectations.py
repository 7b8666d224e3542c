"""What a site's files expect of a node's GPUs, laid over one another: GPU model, node type, system, partition."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

from nearfar.base import SiteFile, site_files
from nearfar.topology import Gpu, Link, Node


def merge(under: Mapping[str, Any], over: Mapping[str, Any]) -> dict[str, Any]:
    """One layer of expectations laid over another; mappings merge key by key, anything else is replaced."""
    merged = dict(under)
    for key, value in over.items():
        below = merged.get(key)
        merged[key] = merge(below, value) if isinstance(below, Mapping) and isinstance(value, Mapping) else value
    return merged


def gpu_models(directories: list[Path]) -> dict[str, Mapping[str, Any]]:
    """What is known of a GPU model wherever it is built in, by model (``site/gpus/``)."""
    models: dict[str, Mapping[str, Any]] = {}
    for path in site_files("gpus", directories).values():
        file = SiteFile(path)
        file.check("gpu-1")
        for model in file.data["gpu_models"]:
            models.setdefault(model, file.data["expect"])
    return models


def filled(node: Node, models: Mapping[str, Mapping[str, Any]]) -> Node:
    """A node type's GPUs with what their model says, where the node type says nothing."""

    def filled_gpu(gpu: Gpu) -> Gpu:
        known_of_model = models.get(gpu.name or "", {})
        link = known_of_model.get("link", {})
        if link and link["kind"] == gpu.link.kind:
            own = {part: getattr(gpu.link, part) or link.get(part) for part in ("gen", "width", "speed")}
            gpu = replace(gpu, link=replace(gpu.link, **own))
        lanes = known_of_model.get("nvlinks") if gpu.nvlinks is None else gpu.nvlinks
        generation = gpu.nvlink_generation or known_of_model.get("nvlink_generation")
        return replace(gpu, nvlinks=lanes, nvlink_generation=generation)

    return replace(node, gpus=tuple(filled_gpu(gpu) for gpu in node.gpus))


def overlaid(node: Node, expect: Mapping[str, Any]) -> Node:
    """A node with what is expected of its GPUs' links and models laid over it; the rest is the comparison's to read."""

    expected = expect.get("link", {})

    def link(gpu: Gpu) -> Link:
        if not expected:
            return gpu.link
        gen = expected.get("gen", gpu.link.nominal.gen)
        width = expected.get("width", gpu.link.nominal.width)
        kind = expected.get("kind", gpu.link.kind)
        return replace(gpu.link, kind=kind, gen=gen, width=width, max_gen=gen, max_width=width)

    model = expect.get("gpu_model")
    return replace(node, gpus=tuple(replace(gpu, link=link(gpu), name=model or gpu.name) for gpu in node.gpus))
