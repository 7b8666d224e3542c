"""The dashboard and the alert rules that ship with the pack: their form, and that every metric and label in them exists."""

from __future__ import annotations

import itertools
import json
import re
from collections.abc import Iterator
from typing import Any

import jsonschema
import pytest
import yaml

from nearfar.base import ORDER
from nearfar.prometheus import METRICS
from nearfar.prometheus.exposition import MetricsPage
from tests.conftest import CHECKOUT

promql = pytest.importorskip("promql_parser")

FOLDER = CHECKOUT / "site" / "templates" / "monitoring"
DASHBOARD = json.loads((FOLDER / "grafana-dashboard.json").read_text())
RULES = yaml.safe_load((FOLDER / "prometheus-rules.yml").read_text())


def expressions() -> Iterator[tuple[str, str]]:
    for panel in DASHBOARD["panels"]:
        yield from ((panel["title"], target["expr"]) for target in panel.get("targets", ()))
    for rule in rules():
        yield rule["alert"], rule["expr"]


def rules() -> list[dict[str, Any]]:
    return [rule for group in RULES["groups"] for rule in group["rules"]]


def selectors(expression: str) -> Iterator[Any]:
    """Every selector of a PromQL expression, by Prometheus' grammar."""
    found: list[Any] = []
    promql.walk(promql.parse(expression), lambda node: found.append(node) or True)
    return (node for node in found if isinstance(node, promql.VectorSelector))


def test_the_dashboard_has_the_form_that_grafana_imports() -> None:
    schema = json.loads((CHECKOUT / "tests/data/monitoring/grafana-dashboard.schema.json").read_text())
    jsonschema.Draft7Validator.check_schema(schema)
    errors = [
        f"{list(e.absolute_path)}: {e.message[:200]}" for e in jsonschema.Draft7Validator(schema).iter_errors(DASHBOARD)
    ]
    assert not errors, "\n".join(errors)
    panels = DASHBOARD["panels"]
    assert len({panel["id"] for panel in panels}) == len(panels)
    for panel in panels:
        assert len({target["refId"] for target in panel.get("targets", ())}) == len(panel.get("targets", ()))


def test_no_panel_lies_on_another() -> None:
    places = [(panel["title"], panel["gridPos"]) for panel in DASHBOARD["panels"]]
    for (one, a), (other, b) in itertools.combinations(places, 2):
        beside = (
            a["x"] + a["w"] <= b["x"]
            or b["x"] + b["w"] <= a["x"]
            or a["y"] + a["h"] <= b["y"]
            or b["y"] + b["h"] <= a["y"]
        )
        assert beside, f"{one} and {other}"
        assert a["x"] + a["w"] <= 24


@pytest.mark.parametrize(("where", "expression"), [*expressions()])
def test_every_metric_and_label_of_an_expression_exists(where: str, expression: str) -> None:
    expression = expression.replace('"$system"', '"a"').replace('"$node"', '"b"')
    found = list(selectors(expression))
    assert found
    for selector in found:
        metric = METRICS[selector.name]
        assert {matcher.name for matcher in selector.matchers.matchers} <= set(metric.labels), (
            f"{where}: {selector.name}"
        )
    labels = {label for selector in found for label in METRICS[selector.name].labels}
    for grouped in re.findall(r"\bby \(([^)]*)\)", expression):
        assert {label.strip() for label in grouped.split(",")} <= labels


def test_every_panel_is_of_the_chosen_system_and_those_of_the_second_row_of_the_chosen_nodes() -> None:
    second = next(panel["gridPos"]["y"] for panel in DASHBOARD["panels"] if panel["title"] == "Node: $node")
    for panel in DASHBOARD["panels"]:
        chosen = {"system", "node"} if panel["gridPos"]["y"] > second else {"system"}
        for target in panel.get("targets", ()):
            for selector in selectors(target["expr"]):
                by = {m.name for m in selector.matchers.matchers if m.value == f"${m.name}"}
                assert by == chosen, panel["title"]


def test_a_dashboard_of_a_thousand_nodes_begins_with_one() -> None:
    [node] = [each for each in DASHBOARD["templating"]["list"] if each["name"] == "node"]
    assert not node["includeAll"] and node["current"] == {} and 'system=~"$system"' in node["definition"]


def test_a_click_on_a_node_chooses_it() -> None:
    tables = [panel for panel in DASHBOARD["panels"] if "/d/nearfar" in json.dumps(panel)]
    assert len(tables) == 4 and DASHBOARD["uid"] == "nearfar"
    for panel in tables:
        [target] = panel["targets"]
        assert "node" in {label for s in selectors(target["expr"]) for label in METRICS[s.name].labels}


def test_the_variables_of_the_dashboard() -> None:
    variables = {each["name"]: each for each in DASHBOARD["templating"]["list"]}
    assert list(variables) == ["datasource", "system", "node"]
    used = set(re.findall(r"\$\{?([a-z]+)\}?", json.dumps(DASHBOARD["panels"])))
    assert used <= set(variables)
    for name in ("system", "node"):
        query = variables[name]["query"]["query"]
        assert variables[name]["definition"] == query
        for metric in re.findall(r"nearfar_\w+", query):
            assert name in METRICS[metric].labels


def test_legends_name_labels_of_their_metrics() -> None:
    for panel in DASHBOARD["panels"]:
        for target in panel.get("targets", ()):
            names = re.findall(r"nearfar_\w+", target["expr"])
            labels = {label for name in names for label in METRICS[name].labels}
            assert set(re.findall(r"\{\{(\w+)\}\}", target["legendFormat"])) <= labels, panel["title"]


def test_the_rules_have_the_form_that_prometheus_reads() -> None:
    assert set(RULES) == {"groups"} and len({group["name"] for group in RULES["groups"]}) == len(RULES["groups"])
    assert len({rule["alert"] for rule in rules()}) == len(rules())
    for rule in rules():
        assert set(rule) <= {"alert", "expr", "for", "labels", "annotations", "keep_firing_for"}
        assert re.fullmatch(r"Nearfar[A-Za-z]+", rule["alert"]) and {"summary", "description"} <= set(
            rule["annotations"]
        )
        assert re.fullmatch(r"\d+[smhd]", rule.get("for", "0m")) and rule["labels"]["severity"] in (
            "info",
            "warning",
            "critical",
        )
        labels = {label for selector in selectors(rule["expr"]) for label in METRICS[selector.name].labels}
        named = set(re.findall(r"\$labels\.(\w+)", " ".join(rule["annotations"].values())))
        assert named <= labels and ("absent(" not in rule["expr"] or not named), rule["alert"]


@pytest.mark.parametrize(
    "verdict, alerts",
    [
        ("FAIL", {"NearfarNodeFailed"}),
        ("INDETERMINATE", {"NearfarNodeNotJudged"}),
        ("DEGRADED", set()),
        ("PASS", set()),
    ],
)
def test_which_rules_are_about_the_verdict_of_a_run(verdict: str, alerts: set[str]) -> None:
    page = MetricsPage()
    page.one_of("nearfar_run_verdict", ORDER, verdict, system="vm", node="n1")
    [now] = re.findall(r'verdict="([^"]*)"\} 1(?:\.0)?$', page.text(), re.M)
    about = [rule for rule in rules() if rule["expr"].startswith("nearfar_run_verdict{")]
    assert {rule["alert"] for rule in about if rule["expr"] == f'nearfar_run_verdict{{verdict="{now}"}} == 1'} == alerts
    [unjudged] = [rule for rule in about if rule["alert"] == "NearfarNodeNotJudged"]
    assert (unjudged["for"], unjudged["labels"]["severity"]) == ("24h", "warning"), "one odd night is no alert"


def test_what_an_administrator_has_to_hear_of_has_a_rule() -> None:
    about = {selector.name for rule in rules() for selector in selectors(rule["expr"])}
    assert about >= {
        "nearfar_run_verdict", "nearfar_health_verdict", "nearfar_act_last_run_timestamp_seconds", "nearfar_drains_held",
        "nearfar_health_timestamp_seconds", "nearfar_fleet_open_findings",
    }  # fmt: skip
