"""Site files: what they say, what is wrong with them, which of them claims a host, and what ReFrame makes of them."""

from __future__ import annotations

from pathlib import Path

import pytest

from nearfar.base import site_file
from nearfar.base.errors import NearfarError
from nearfar.base.site_file import SiteFile, site_directories, site_files
from nearfar.site import expectations, lint, reframe_settings, systems
from nearfar.topology import Gpu, Link, Node
from tests.conftest import CHECKOUT

GOOD = """\
system: mine
hosts: ["node[01-12]", "login1"]
product: "Box 9000"
expect: {gpus: 4, link: {gen: 5, width: 16}}
partitions:
  - name: gpu
    node_type: keeneland
    features: [gpu]
    expect: {link: {width: 8}}
"""


@pytest.fixture
def site(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """An own site directory in front of the checkout's."""
    (tmp_path / "systems").mkdir()
    monkeypatch.setenv("NEARFAR_SITE", str(tmp_path))
    systems.site.cache_clear()
    yield tmp_path
    systems.site.cache_clear()


def write(site: Path, text: str, name: str = "mine") -> Path:
    path = site / "systems" / f"{name}.yaml"
    path.write_text(text)
    return path


def test_the_shipped_systems_load_with_their_node_types() -> None:
    directories = [CHECKOUT / "site"]
    loaded = systems.load_all(directories)
    assert set(loaded) >= {"keeneland", "dl160", "summit", "sierra", "titan", "jaguarpf", "pop-four-gpus"}
    for system in loaded.values():
        for partition in system.partitions.values():
            node_type = partition.load_node_type(directories)
            assert node_type is not None
            assert ("gpu" in partition.features) == bool(node_type.node.gpus), system.name


def test_layers_partition_over_system(site: Path) -> None:
    write(site, GOOD)
    partition = systems.load_all()["mine"].partitions["gpu"]
    assert partition.expect == {"gpus": 4, "link": {"gen": 5, "width": 8}}
    assert partition.references == "mine"


@pytest.mark.parametrize(
    "change, virtual, kind",
    [
        (("", ""), None, "own"), (("", ""), False, "own"), (("", ""), True, "shared"),
        (("partitions:", "host: own\npartitions:"), True, "own"), (("partitions:", "host: shared\npartitions:"), False, "shared"),
        (("    features: [gpu]", "    features: [gpu]\n    host: own"), True, "own"),
    ],
)  # fmt: skip
def test_own_and_shared_hosts(site: Path, change: tuple[str, str], virtual: bool | None, kind: str) -> None:
    write(site, GOOD.replace(*change, 1) if change[0] else GOOD)
    partition = systems.load_all()["mine"].partitions["gpu"]
    assert partition.host_of(Node("n", (), (), virtual_machine=virtual)) == kind
    assert partition.host_of(None) == ("shared" if "shared" in change[1] else "own")
    assert "host" not in partition.reframe


def test_a_partitions_host_stands_above_its_systems(site: Path) -> None:
    write(
        site,
        GOOD.replace("partitions:", "host: own\npartitions:").replace(
            "    features: [gpu]", "    features: [gpu]\n    host: shared"
        ),
    )
    assert systems.load_all()["mine"].partitions["gpu"].host_of(None) == "shared"


def test_expected_links_are_laid_over_the_node_type() -> None:
    node = Node("n", (), (), (Gpu(0, "0000:01:00.0", name="A", link=Link("pcie", 1, 16, 4, 16)),))
    gpu = expectations.overlaid(node, {"link": {"gen": 5}, "gpu_model": "B"}).gpus[0]
    assert (gpu.name, gpu.link) == ("B", Link("pcie", 5, 16, 5, 16))


@pytest.mark.parametrize(
    "change, line, words",
    [
        (("hosts:", "host:"), 2, "is not one of own, shared"),
        (("partitions:", "partition:"), 5, "unknown key 'partition' (did you mean 'partitions'?)"),
        (("    features: [gpu]", "    feature: [gpu]"), 8, "unknown key 'feature' (did you mean 'features'?)"),
        (("gpus: 4", "gpus: four"), 4, 'expected a whole number, found "four"'),
        (("hosts: [\"node[01-12]\", \"login1\"]", "hosts: node1"), 2, 'expected a list, found "node1"'),
        (("node_type: keeneland", "node_type: keneland"), 7, "unknown node type 'keneland' (did you mean 'keeneland'?)"),
        (("system: mine", "system: yours"), 1, "use one name for both"),
        (("node[01-12]", "node[01-"), 2, "not a node list such as"),
        (("node[01-12]", "node[1-99999999]"), 2, "'node[1-99999999]': a list of 99,999,999 names; at most 100,000 are read"),
        (("\"node[01-12]\", \"login1\"", "\"a[1-60000]\", \"b[1-60000]\""), 2, "a list of 120,000 names"),
        (("partitions:", "partitions: {"), 6, "not YAML"),
        (("partitions:", "x: \0\npartitions:"), 5, "not YAML: unacceptable character #x0000"),
        (("product:", "host: mine\nproduct:"), 3, '"mine" is not one of own, shared'),
        (("    features: [gpu]", "    features: [gpu]\n    host: 1"), 9, "host"),
        (("product: \"Box 9000\"", "hosts: [a]"), 3, "the key 'hosts' is there twice"),
        (("    features: [gpu]", "    features: [gpu]\n    environs: [sytem]"), 9, "unknown environment 'sytem' (did you mean 'system'?)"),
        (("Box 9000", "{{ env.NEARFAR_NO_SUCH }}"), 3, "template: no environment variable 'NEARFAR_NO_SUCH'"),
        (("Box 9000", "{{ env.HOME"), 3, "template: "),
        (("  - name: gpu", "  - name: 9gpu"), 6, "expected a name of letters"),
        (("  - name: gpu\n", "  - \n"), 7, "the key 'name' is missing"),
    ],
)  # fmt: skip
def test_a_wrong_file_is_named_with_its_line(site: Path, change: tuple[str, str], line: int, words: str) -> None:
    path = write(site, GOOD.replace(*change))
    with pytest.raises(NearfarError) as caught:
        systems.load_all()
    assert str(caught.value).startswith(f"{path}:{line}: "), str(caught.value)
    assert words in str(caught.value)
    assert "\n" not in str(caught.value)


def test_an_empty_file_and_one_that_is_no_text(site: Path) -> None:
    path = write(site, "")
    with pytest.raises(NearfarError, match="expected a mapping, found null"):
        systems.load_all()
    path.write_bytes(b"\xff\xfe\x00")
    with pytest.raises(NearfarError, match="cannot be read"):
        systems.load_all()


def test_templates_see_files_and_environment_alone(site: Path) -> None:
    write(site, GOOD.replace("Box 9000", "{{ env.get('NEARFAR_BOX', 'none') }}"))
    assert systems.load_all(environ={"NEARFAR_BOX": "B1", "NEARFAR_SITE": str(site)})["mine"].product == "B1"
    write(site, GOOD.replace("Box 9000", "{{ ''.__class__.__mro__ }}"))
    with pytest.raises(NearfarError, match="template"):
        systems.load_all()


LOOP = "{% for n in [1, 2, 3] %}\n# {{ n }}\n{% endfor %}\n"


@pytest.mark.parametrize(
    "after, line",
    [
        (GOOD.replace("hosts:", "hots:"), "mine.yaml:{own}: unknown key 'hots'"),
        (
            GOOD.replace("hosts:", "{{ 'hots' }}:"),
            "mine.yaml: line {rendered} of the rendered text of mine.yaml: unknown",
        ),
    ],
    ids=["a line as it stands in the template", "a line that the template makes"],
)
def test_the_line_after_a_loop_is_the_templates_or_said_to_be_of_the_rendered_text(
    site: Path, after: str, line: str
) -> None:
    write(site, LOOP + after)
    own = next(n for n, each in enumerate((LOOP + after).splitlines(), 1) if "hots" in each)
    text = "".join(f"\n# {n}\n" for n in (1, 2, 3)) + "\n" + after
    rendered = next(n for n, each in enumerate(text.splitlines(), 1) if "hots" in each)
    with pytest.raises(NearfarError) as caught:
        systems.load_all()
    assert line.format(own=own, rendered=rendered) in str(caught.value)
    (complaint,) = [each for each in lint.lint([site]).complaints if "hots" in each.message]
    assert str(complaint).startswith(str(caught.value).split(": unknown", maxsplit=1)[0])


def test_own_site_comes_first(site: Path) -> None:
    write(site, GOOD.replace("system: mine", "system: keeneland"), "keeneland")
    assert site_files("systems", site_directories())["keeneland"].parent == site / "systems"


def test_a_site_directory_that_is_not_there(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("NEARFAR_SITE", "/no/such/site")
    with pytest.raises(NearfarError, match="/no/such/site is not a directory"):
        site_directories()


@pytest.mark.parametrize(
    "host, product, claimed",
    [
        ("node01", None, "mine"), ("node12.cluster.org", None, "mine"), ("login1", None, "mine"),
        ("node13", None, None), ("node1", None, None), ("other", "Box 9000", "mine"), ("other", "Box 9", None),
        ("kid077", None, "keeneland"),
    ],
)  # fmt: skip
def test_claims(site: Path, host: str, product: str | None, claimed: str | None) -> None:
    write(site, GOOD)
    system = systems.claims(host, product, systems.load_all())
    assert (None if system is None else system.name) == claimed


def test_a_host_claimed_twice(site: Path) -> None:
    write(site, GOOD)
    write(site, GOOD.replace("system: mine", "system: also"), "also")
    with pytest.raises(NearfarError, match=r"host node03 is claimed by .*also.yaml and .*mine.yaml"):
        systems.claims("node03", None, systems.load_all())


def test_local_gets_a_stand_in_only_without_gpus() -> None:
    loaded = systems.load_all([CHECKOUT / "site"])
    without = systems.local_system(False, loaded)
    assert [(p.name, p.modelled) for p in without.partitions.values()] == [("default", False), ("keeneland", True)]
    assert set(systems.local_system(True, loaded).partitions) == {"default"}
    assert systems.local_system(True, loaded).partitions["default"].features == ("gpu",)
    assert systems.local_system(True, loaded, {"mpi": "no OSU"}).partitions["default"].features == (
        "gpu",
        "ranks",
        "nccl",
    )


def test_nearfar_system_overrides_the_host(site: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    write(site, GOOD)
    monkeypatch.setenv("NEARFAR_SYSTEM", "mine")
    assert systems.site().here == "mine"
    systems.site.cache_clear()
    monkeypatch.setenv("NEARFAR_SYSTEM", "mien")
    with pytest.raises(NearfarError, match=r"no system file called 'mien' \(did you mean 'mine'\?\)"):
        systems.site()


def test_reframe_takes_the_configuration(site: Path, tmp_path: Path) -> None:
    """Against ReFrame's own schema, with everything that a system file may hold."""
    write(site, GOOD.replace("    node_type", (
        "    scheduler: slurm\n    launcher: srun\n    access: [-pgpu]\n    modules: [cuda]\n    max_jobs: 4\n    time_limit: 10m\n"
        "    env_vars: {A: 1}\n    prepare_cmds: [date]\n    environs: [system, mpi]\n    resources: {_rfm_gpu: [--gpus=4]}\n"
        "    description: d\n    references: other\n    node_type"
    )).replace("partitions:", "environments: [{name: mpi, modules: [m], env_vars: {B: x}, features: [mpi]}]\npartitions:"))  # fmt: skip
    import json

    import jsonschema
    import reframe

    schema = json.loads((Path(reframe.__path__[0]) / "schemas" / "config.json").read_text())
    loaded = systems.site()
    configuration = reframe_settings.configuration(loaded, tmp_path / "run")
    jsonschema.validate(configuration, schema)
    assert configuration["systems"][0]["name"] == loaded.here
    assert [s["hostnames"] for s in configuration["systems"][1:]] == [["(?!)"]] * (len(loaded.systems) - 1)


@pytest.mark.parametrize(
    "name",
    [
        "system-1",
        "references-1",
        "node-type-1",
        "gpu-1",
        "measurement-2",
        "verdict-2",
        "slurm-status-2",
    ],
)
def test_schemas_are_schemas(name: str) -> None:
    import jsonschema

    jsonschema.Draft7Validator.check_schema(site_file.schema(name))


def test_lines_of_parts(tmp_path: Path) -> None:
    path = tmp_path / "f.yaml"
    path.write_text("a: 1\nb:\n  - c: 2\n  - d: 3\n")
    file = SiteFile(path)
    assert [file.line("a"), file.line("b", 1, "d"), file.line("b", 9), file.line()] == [1, 4, 2, 1]


def test_a_gpu_models_words_fill_what_the_node_type_leaves_open() -> None:
    models = expectations.gpu_models([CHECKOUT / "site"])
    bare = Gpu(0, "0000:01:00.0", name="NVIDIA H200")
    slow_slot = Gpu(1, "0000:02:00.0", name="NVIDIA H200", link=Link("pcie", 4, 16), nvlinks=0)
    other = Gpu(2, "0000:03:00.0", name="Tesla M2070")
    first, second, third = expectations.filled(Node("n", (), (), (bare, slow_slot, other)), models).gpus
    assert (first.link, first.nvlinks) == (Link("pcie", 5, 16), 18)
    assert (second.link, second.nvlinks) == (Link("pcie", 4, 16), 0)
    assert third == other
