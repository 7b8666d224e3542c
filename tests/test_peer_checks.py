"""peer_check under a real ReFrame: a node with one GPU, and a program that knows no pairs."""

from __future__ import annotations

import json
import sys
from pathlib import Path

from nearfar.files import CHECKOUT
from tests.test_checks import reframe

WITHOUT_PAIRS = f"""#!{sys.executable}
import json, sys
sys.path.insert(0, {str(CHECKOUT)!r})
from pathlib import Path
from nearfar.cells import parse_lines
from nearfar.prediction import load_node_type, modelled_document
made = modelled_document(load_node_type("keeneland", [Path({str(CHECKOUT / "site")!r})]), [])
made.update(kind="measured", program={{"name": "nearfar-copy"}})
cells = parse_lines(sys.argv[sys.argv.index("--cells") + 1])
made["skipped"] = [{{"cell": str(cell), "reason": "no pairs", "code": "unsupported"}} for cell in cells]
print(json.dumps(made))
"""


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
    )  # fmt: skip
    every = [json.loads(path.read_text()) for path in (tmp_path / "run").glob("*/*/verdict.json")]
    found = {verdict["partition"]: verdict for verdict in every}
    assert set(found) == {"one", "three"}, done.stdout + done.stderr
    assert found["one"]["verdict"] == "PASS"
    assert [f["reason"] for f in found["one"]["findings"]] == ["one GPU: there is no pair to measure"]
    assert found["three"]["verdict"] == "INDETERMINATE"
    assert found["three"]["reasons"] == ["nothing was measured: every cell was skipped; the first: no pairs"]
