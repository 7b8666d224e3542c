"""What does a wrong binding cost the site's own programs, and is what their launcher does as good as it should be?"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from nearfar.base import Finding
from nearfar.cells import Skip
from nearfar.measurement import PROGRAM, RATIO, Document, SubjectMetric, figure_of, program_subject
from nearfar.topology import Node

from . import messages, synthetic_documents
from .question import Question

_MESSAGES = {True: messages.BINDING_WITHIN, False: messages.BINDING_BEYOND, None: messages.BINDING_UNSETTLED}


def subjects(node: Node, names: tuple[str, ...] = ()) -> tuple[list[str], list[Skip]]:
    """Each of the programs that the partition names."""
    return [program_subject(name) for name in names], []


def figures(document: Document) -> list[SubjectMetric]:
    """Of each scheme its time (or the reference's figure over its own) over that of the scheme that it is compared with."""
    return [_figure(result, part) for result in _results(document) for part in result["flows"]]


def _figure(result: Mapping[str, Any], part: Mapping[str, Any]) -> SubjectMetric:
    name, scheme = str(result["cell"]).partition("/")[2], str(part["flow"])
    return SubjectMetric(
        **figure_of(result, part["rate"]), name=f"{name}.{scheme}".replace("-", "_"), path_class=scheme,
        words=f"{name}: {scheme} over {result['reference']}", quantity=RATIO, question=scheme,
    )  # fmt: skip


def findings(document: Document | None) -> list[Finding]:
    """Whether each program's launcher binds as well as the site asks (``at_most``); a note where it asks nothing."""
    findings = []
    for result in [] if document is None else _results(document):
        message = messages.BINDING_COST if result.get("at_most") is None else _MESSAGES[result.get("good")]
        findings.append(message.finding(str(result["cell"]), **_fields(result)))
    return findings


def _fields(result: Mapping[str, Any]) -> dict[str, Any]:
    """The program, what each scheme costs over the reference, and why not all of that counts."""
    costs = [f"{part['flow']} {100 * (part['rate']['median'] - 1):+.1f} %" for part in result["flows"]]
    bound, about = result.get("at_most"), result.get("cost", {})
    bound_itself = [scheme["name"] for scheme in about.get("schemes", []) if scheme.get("binds_itself")]
    return {
        "program": str(result["cell"]).partition("/")[2], "reference": result["reference"], "costs": costs,
        "bound": None if bound is None else 100 * bound, "judged": about.get("plan", {}).get("judged"),
        "error": about.get("same", {}).get("difference"), "bound_itself": bound_itself,
    }  # fmt: skip


def _results(document: Document) -> list[Mapping[str, Any]]:
    return [result for result in document.raw.get("results") or [] if result["quantity"] == PROGRAM]


QUESTION = Question(
    name="binding_check",
    title="What a binding costs",
    description="the site's programs under binding schemes",
    program="nearfar cost",
    cells=subjects,
    # A site asks for it with the feature `programs`, and names them in its partition.
    systems=("+programs -modelled",),
    without_cells=lambda node: messages.NO_PROGRAM.finding("cells"),
    quantities=lambda subject: (PROGRAM,),
    figures=lambda document, node: figures(document),
    findings=findings,
    # Its figures are named after the site's programs, and have no references.
    synthetic=lambda node, features: synthetic_documents.document({"results": []}, node),
)
