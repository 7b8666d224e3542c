"""``nearfar diagnose`` as a user meets it: what was not measured, documents that do not belong together, the documented
example, exit codes."""

from __future__ import annotations

import json
import re
import shlex
from pathlib import Path

import pytest

from benchmarks.telling_cells import telling_cells
from nearfar.cli import main
from nearfar.model.prediction import load_node_type, modelled_document

CHECKOUT = Path(__file__).parents[2]
H200 = Path(__file__).parents[1] / "data" / "h200-x4"


@pytest.fixture(autouse=True)
def own_site(monkeypatch):
    monkeypatch.delenv("NEARFAR_SITE", raising=False)


@pytest.fixture
def write(tmp_path):
    """Writes the document of Summit's matrix, as measured unless told, with changes; returns its path."""

    def written(name="now.json", kind="measured", seed=0, noise=0.0, **changes):
        node_type = load_node_type("summit", [CHECKOUT / "site"])
        document = modelled_document(node_type, telling_cells(node_type.node), None, noise, seed)
        document["kind"] = kind
        if kind == "measured":
            del document["node_type"]
        document.update(changes)
        (tmp_path / name).write_text(json.dumps(document))
        return tmp_path / name

    return written


def run(capsys, *words, command="diagnose"):
    code = main([command, *map(str, words)])
    captured = capsys.readouterr()
    return code, captured.out, captured.err


def results(path):
    return json.loads(path.read_text())["results"]


def of(results, gpu):
    return [one for one in results if re.search(rf"g{gpu}\b", one["cell"])]


def lost(results, gpu, code="lost", reason="has fallen off the bus"):
    """What a document says whose GPU is lost: its other results, and the failures."""
    gone = of(results, gpu)
    failed = [{"cell": one["cell"], "reason": reason, "code": code} for one in gone]
    return {"results": [one for one in results if one not in gone], "failed": failed}


def at_best(found):
    return {one["cell"] for one in found if one.get("basis") in ("upper bound", "nominal")}


def test_a_lost_gpu_is_no_healthy_node(capsys, write):
    well = write("well.json")
    ill = write("ill.json", **lost(results(well), 3))
    code, out, err = run(capsys, "--node", "summit", ill, "--healthy", well)
    assert (code, err) == (1, "")
    assert re.search(
        r"cells failed: g3 \([0-9a-f:.]+\) lost: n0:g3, .* and \d+ more: has fallen off the bus$", out, re.M
    )
    assert out.splitlines()[-1] == "nothing is slow of what was compared"
    code, out, _ = run(capsys, "--node", "summit", ill, "--healthy", well, "--json")
    found = json.loads(out)
    assert code == 1
    assert {one["code"] for one in found["failed"]} == {"lost"}
    assert "failed: g3" in found["sentence"]


def test_every_cell_lost_is_hard_evidence_too(capsys, write):
    everything = [{"cell": "", "reason": "all GPUs are lost", "code": "lost"}]
    code, out, err = run(capsys, write(results=[], failed=everything))
    assert (code, err) == (1, "")
    assert "everything failed: lost: all GPUs are lost" in out
    assert "nothing could be compared" in out


def test_failures_that_prove_nothing_could_not_be_judged(capsys, write):
    well = write("well.json")
    ill = write("ill.json", **lost(results(well), 3, "placement", "the pages were elsewhere"))
    code, out, _ = run(capsys, ill, "--healthy", well)
    assert code == 3
    assert "placement: " in out


def test_prevented_cells_are_never_green(capsys, write):
    well = write("well.json")
    gone = lost(results(well), 3, "busy", "somebody computes on it")
    ill = write("ill.json", results=gone["results"], skipped=gone["failed"])
    code, out, _ = run(capsys, ill, "--healthy", well)
    assert code == 3
    assert "not measured: g3" in out
    assert "busy: n0:g3" in out


@pytest.mark.parametrize("reason", ["representative", "unsupported"])
def test_expected_skips_are_healthy(capsys, write, reason):
    well = write("well.json")
    skipped = [{"cell": "n0:g0/pageable", "reason": "as the other", "code": reason}]
    code, out, _ = run(capsys, write("ill.json", skipped=skipped), "--healthy", well)
    assert (code, out.splitlines()[-1]) == (0, "nothing is slow")


def test_damaged_data_is_no_healthy_node(capsys, write):
    well = write("well.json")
    damaged = results(well)
    damaged[0]["verified"] = False
    code, out, _ = run(capsys, write("ill.json", results=damaged), "--healthy", well)
    assert code == 1
    assert f"1 cell with wrong data on arrival: {damaged[0]['cell']}" in out


def test_calibrate_leaves_damaged_data_out_and_says_so(capsys, write):
    damaged = results(write())
    damaged[0]["verified"] = False
    code, out, err = run(capsys, write("ill.json", results=damaged), command="calibrate")
    assert code == 0
    assert out
    assert err == f"nearfar: left out: {damaged[0]['cell']}: the data did not arrive intact\n"


def test_cells_of_the_healthy_run_that_are_not_there(capsys, write):
    well = write("well.json")
    gone = lost(results(well), 3)
    code, out, _ = run(capsys, write("ill.json", results=gone["results"]), "--healthy", well)
    assert code == 0
    known = [one["cell"] for one in gone["failed"] if one["cell"] not in at_best(results(well))]
    assert f"{len(known)} cells of the healthy run not measured: n0:g3" in out
    assert out.splitlines()[-1] == "nothing is slow of what was compared"


def test_a_modelled_document_brings_its_node_type(capsys, write):
    code, out, _ = run(capsys, write(kind="modelled"))
    assert (code, out.splitlines()[-1]) == (0, "nothing is slow")
    _, out, _ = run(capsys, write(kind="modelled"), command="calibrate")
    assert "capacities of summit, GB/s" in out.splitlines()[0]


def test_a_modelled_document_of_another_sites_node_type(capsys, write):
    code, _, err = run(capsys, write(kind="modelled", node_type="elsewhere"))
    assert code == 2
    assert "now.json: unknown node type 'elsewhere'" in err
    assert len(err.splitlines()) == 1


@pytest.mark.parametrize("seed", range(6))
def test_siblings_that_differ_by_design_name_nobody(capsys, write, seed):
    """Nothing says that two of Summit's links are a little slower than the others'."""
    _, out, _ = run(capsys, write(seed=seed, noise=0.003))
    assert "is degraded to" not in out


def test_what_only_differs_from_its_siblings_is_not_decided(capsys, write):
    """A healthy Summit that does not say what it is: two of its links are a little slower than the others, by design."""
    well = write("well.json")
    code, out, _ = run(capsys, well)
    assert code == 3
    assert (
        "4 cells fall short of siblings and no part explains it: GPUs may differ by design; name a healthy run" in out
    )
    assert "not explained: g2:n1 at 96% of healthy" in out
    code, out, _ = run(capsys, "--json", well)
    assert (code, "GPUs may differ by design" in json.loads(out)["sentence"]) == (3, True)
    for known in (("--node", "summit", well), (well, "--healthy", well)):
        code, out, _ = run(capsys, *known)
        assert (code, "nothing is slow" in out) == (0, True)


def test_what_is_measured_beside_an_aggressor_says_so(capsys, write):
    _, out, _ = run(capsys, "--node", "summit", write(aggressor=["n0:g1", "g1:n0"]))
    assert ", measured beside n0:g1, g1:n0: " in out.splitlines()[0]


@pytest.mark.parametrize("command", ["diagnose", "calibrate"])
def test_a_figure_of_a_gpu_that_the_documents_node_lacks(capsys, write, command):
    foreign = results(write())
    foreign[0] = json.loads(json.dumps(foreign[0]).replace("g0", "g9"))
    code, _, err = run(capsys, write("odd.json", results=foreign), command=command)
    assert code == 3
    assert "odd.json: cell '" in err
    assert "has no g9" in err
    assert len(err.splitlines()) == 1


def test_a_healthy_run_of_other_gpus(capsys, write):
    code, _, err = run(capsys, H200 / "saturation.json", "--healthy", write("well.json"))
    assert code == 3
    assert "well.json: its g0 is " in err
    assert "NVIDIA H200" in err
    assert len(err.splitlines()) == 1


def test_a_healthy_run_without_figures(capsys, write):
    code, _, err = run(capsys, write(), "--healthy", write("well.json", results=[]))
    assert code == 3
    assert "well.json: holds no figure" in err


def test_checks_of_a_healthy_run_that_measure_no_path_are_passed_over(capsys, tmp_path, write):
    for check, changes in (("host_device_check", {}), ("gemm_check", {"results": []})):
        (tmp_path / "well" / check).mkdir(parents=True)
        write(f"well/{check}/document.json", **changes)
    code, out, err = run(capsys, write(), "--healthy", tmp_path / "well")
    assert code == 0 and "nothing is slow" in out, (out, err)


def test_slow_but_not_explained_is_a_failure(capsys, write):
    well = write("well.json")
    slow = results(well)
    for one in slow:
        if one["cell"] == "n0:g3":
            rate = one["flows"][0]["rate"]
            rate.update(median=rate["median"] * 0.7, ci=[rate["median"] * 0.7] * 2)
    code, out, _ = run(capsys, "--node", "summit", write("ill.json", results=slow), "--healthy", well)
    assert code == 1
    assert "no single part explains this, nor two: 1 cell slow" in out
    assert "not explained: n0:g3 at 70% of healthy" in out


def test_a_part_has_its_healthy_figure_beside_it(capsys, tmp_path):
    """Of Keeneland nobody knows what the link between packages carries: what healthy cells ask of it stands for it."""
    node_type = load_node_type("keeneland", [CHECKOUT / "site"])
    far = {
        f"{a}:{b}": 0.5
        for n, gpus in (("n0", "12"), ("n1", "0"))
        for g in gpus
        for a, b in ((n, f"g{g}"), (f"g{g}", n))
    }
    for name, factors in (("well", None), ("ill", far)):
        text = json.dumps(modelled_document(node_type, telling_cells(node_type.node), factors))
        (tmp_path / f"{name}.json").write_text(text)
    _, out, _ = run(capsys, tmp_path / "ill.json", "--healthy", tmp_path / "well.json")
    now, healthy = map(float, re.search(r"p0-p1 ([\d.]+) of ([\d.]+) GB/s", out).groups())
    assert now / healthy == pytest.approx(0.5, abs=0.05)
    assert "not known" not in out


@pytest.mark.parametrize(
    ("part", "capacities"),
    [("g2.link", ("g2.h2d", "g2.d2h", "g2.both")), ("g0-g1.link", ("g0:g1", "g1:g0")), ("g2.d2h", ("g2.d2h",))],
)
def test_predict_degrades_the_parts_that_diagnose_names(capsys, part, capacities):
    cells = ["--node", "summit", "n0:g2", "g2:n0", "n0:g2+g2:n0", "g0:g1", "g1:g0"]
    _, whole, _ = run(capsys, *cells, "--degrade", f"{part}=0.5", command="predict")
    single = [word for name in capacities for word in ("--degrade", f"{name}=0.5")]
    _, each, _ = run(capsys, *cells, *single, command="predict")
    _, well, _ = run(capsys, *cells, command="predict")
    assert whole == each != well


def test_a_part_of_which_nothing_is_known_cannot_be_degraded(capsys):
    code, _, err = run(capsys, "--node", "jaguarpf", "c0:n0/triad", "--degrade", "p0-p1.link=0.5", command="predict")
    assert code == 2
    assert "p0-p1 is not known" in err


@pytest.mark.parametrize(
    ("fault", "message"),
    [
        ("g2.link=1.5", "--degrade g2.link=1.5: a factor is above 0 and at most 1, such as 0.5"),
        (
            "g9.link=0.5",
            "summit has no such part (did you mean 'g5.link'?); its parts: g0.link to g5.link, g0.h2d to g5.h2d, ",
        ),
    ],
)
def test_a_wrong_fault_states_what_is_allowed(capsys, fault, message):
    code, _, err = run(capsys, "--node", "summit", "n0:g0", "--degrade", fault, command="predict")
    assert (code, err.count("\n")) == (2, 1)
    assert message in err


_ANSWER = re.compile(r"(\S+) is degraded to ([\d.]+) \(([\d.]+) to ([\d.]+)\) of healthy: (.*)")


def test_the_documented_example(capsys, tmp_path, monkeypatch):
    page = (CHECKOUT / "benchmarks/studies/diagnosis.md").read_text()
    lines = [line[4:] for line in page.split("\n\n")[4].splitlines()]
    commands = [shlex.split(line)[2:] for line in lines if line.startswith("$ nearfar ")]
    written = _ANSWER.search("\n".join(lines))
    assert len(commands) == 3
    monkeypatch.chdir(tmp_path)
    for words in commands:
        *words, target = (*words[:-2], words[-1]) if ">" in words else (*words, None)
        main(words)
        out = capsys.readouterr().out
        if target:
            Path(target).write_text(out)
    found = _ANSWER.search(out)
    part, *figures, rest = found.groups()
    factor, low, high = map(float, figures)
    assert (part, rest) == (written[1], written[5])
    assert (factor, low, high) == pytest.approx([float(written[at]) for at in (2, 3, 4)], abs=0.002)
    assert part == "g2.d2h"
    assert low <= 0.5 <= high
    assert out.splitlines()[0] == lines[len(commands)]


def test_a_run_s_directory_stands_for_its_documents(tmp_path, write, capsys):
    whole = write("summit.json")
    folder = tmp_path / "20261123T120000" / "gpu007"
    parts = {
        "host_device_check": results(whole)[:20],
        "peer_check": results(whole)[20:30],
        "saturation_check": results(whole)[30:],
    }
    for check, some in parts.items():
        (folder / check).mkdir(parents=True)
        write(f"20261123T120000/gpu007/{check}/document.json", results=some)
    said = [run(capsys, "--node", "summit", name)[:2] for name in (folder.parent, folder)]
    assert said[0][0] == said[1][0] == 0 and f"3 documents of {folder}" in said[1][1], said
    (folder.parent / "gpu008").mkdir()
    (folder / "peer_check").rename(folder.parent / "gpu008" / "peer_check")
    code, _, wrong = run(capsys, "--node", "summit", folder.parent)
    assert code == 2 and wrong == f"nearfar: {folder.parent}: documents of 2 nodes; name one of them: {folder}\n"
    code, _, wrong = run(capsys, "--node", "summit", tmp_path / "empty")
    assert code == 2 and "no such file" in wrong.lower()
    (tmp_path / "empty").mkdir()
    code, _, wrong = run(capsys, "--node", "summit", tmp_path / "empty")
    assert code == 2 and wrong.count("\n") == 1 and "no document.json in it" in wrong
