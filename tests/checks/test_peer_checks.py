"""peer_check under a real ReFrame: a node with one GPU, a program that knows no pairs, a device that denies the site's links."""

from __future__ import annotations

import json
import sys
from pathlib import Path

import pytest

from nearfar.base.verdicts import NOT_JUDGED
from tests.checks.test_checks import reframe
from tests.conftest import CHECKOUT

WITHOUT_PAIRS = f"""#!{sys.executable}
import json, sys
sys.path.insert(0, {str(CHECKOUT)!r})
from pathlib import Path
from nearfar.cells import parse_lines
from nearfar.model.prediction import load_node_type, modelled_document
made = modelled_document(load_node_type("keeneland", [Path({str(CHECKOUT / "site")!r})]), [])
made.update(kind="measured", program={{"name": "nearfar-copy"}})
cells = parse_lines(sys.argv[sys.argv.index("--cells") + 1])
made["skipped"] = [{{"cell": str(cell), "reason": "no pairs", "code": "unsupported"}} for cell in cells]
print(json.dumps(made))
"""


#: A device without peer access: the pairs are unsupported, through host memory they are well.
WITHOUT_PEERS = f"""#!{sys.executable}
import json, sys
sys.path.insert(0, {str(CHECKOUT)!r})
from pathlib import Path
from nearfar.cells import parse_lines
from nearfar.model.prediction import load_node_type, modelled_document
cells = parse_lines(sys.argv[sys.argv.index("--cells") + 1])
made = modelled_document(load_node_type("h200-x4-vm", [Path({str(CHECKOUT / "site")!r})]), [c for c in cells if c.flows[0].staged])
made.update(kind="measured", program={{"name": "nearfar-copy"}})
made["skipped"] = [
    {{"cell": str(c), "reason": "no peer access between them", "code": "unsupported"}} for c in cells if not c.flows[0].staged
]
print(json.dumps(made))
"""


@pytest.mark.parametrize("acceptance", ["0", "1"])
def test_links_of_the_sites_file_that_the_device_denies_are_not_green(tmp_path: Path, acceptance: str) -> None:
    (tmp_path / "site" / "systems").mkdir(parents=True)
    (tmp_path / "site" / "systems" / "real.yaml").write_text(
        "system: real\npartitions: [{name: four, node_type: h200-x4-vm, features: [gpu]}]\n"
    )
    (tmp_path / "bin").mkdir()
    program = tmp_path / "bin" / "nearfar-copy"
    program.write_text(WITHOUT_PEERS)
    program.chmod(0o755)
    done = reframe(
        tmp_path, "-r", "--system=real", "-n", "^peer_check$", NEARFAR_ACCEPTANCE=acceptance,
        NEARFAR_SITE=str(tmp_path / "site"), NEARFAR_SYSTEM="real", NEARFAR_PROGRAMS=str(program.parent),
    )  # fmt: skip
    (found,) = [json.loads(path.read_text()) for path in (tmp_path / "run").glob("*/*/verdict.json")]
    assert found["verdict"] == "FAIL", done.stdout + done.stderr
    (denied,) = [finding for finding in found["findings"] if finding["hard"]]
    assert denied["code"] == "link.missing" and "g0:g1, g1:g0, g0:g1@g1 and " in denied["reason"]
    assert "h200-x4-vm.yaml joins GPUs by NV18" in denied["reason"]


def test_one_gpu_is_a_note_and_pairs_that_are_all_skipped_are_not_green(tmp_path: Path) -> None:
    (tmp_path / "site" / "systems").mkdir(parents=True)
    (tmp_path / "site" / "systems" / "real.yaml").write_text(
        "system: real\npartitions:\n"
        "  - {name: one, node_type: titan, features: [gpu]}\n  - {name: three, node_type: keeneland, features: [gpu]}\n"
    )
    (tmp_path / "bin").mkdir()
    program = tmp_path / "bin" / "nearfar-copy"
    program.write_text(WITHOUT_PAIRS)
    program.chmod(0o755)
    done = reframe(
        tmp_path, "-r", "--system=real", "-n", "^peer_check$",
        NEARFAR_SITE=str(tmp_path / "site"), NEARFAR_SYSTEM="real", NEARFAR_PROGRAMS=str(program.parent),
        NEARFAR_MUST_JUDGE="1", HWLOC_XMLFILE=str(CHECKOUT / "site/nodes/keeneland.xml"), HWLOC_THISSYSTEM="0",
    )  # fmt: skip
    every = [json.loads(path.read_text()) for path in (tmp_path / "run").glob("*/*/verdict.json")]
    found = {verdict["partition"]: verdict for verdict in every}
    assert set(found) == {"one", "three"}, done.stdout + done.stderr
    assert found["one"]["verdict"] == NOT_JUDGED, "what does not apply to a node counts neither way, in a sweep too"
    assert [f["code"] for f in found["one"]["findings"]] == ["cells.one_gpu"]
    assert found["three"]["verdict"] == "INDETERMINATE"
    staged, published, nothing = found["three"]["reasons"]
    assert staged.endswith("and 6 more: no pairs (the node has both GPUs, and host memory between them)")
    assert "keeneland.yaml" in published
    assert nothing.startswith("nothing was measured") and nothing.endswith("no pairs")
