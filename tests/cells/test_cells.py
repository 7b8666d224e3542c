"""The notation against the vectors shared with the C++ parser, its properties, names, classes and generators."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from nearfar.base.errors import NearfarError
from nearfar.cells import (
    KERNELS,
    Cell,
    CellError,
    Endpoint,
    Flow,
    cell_class,
    host_device_matrix,
    metric_name,
    parse,
    parse_lines,
    parse_metric_name,
    pretty,
    stream_matrix,
)
from nearfar.topology import Gpu, Node, NumaNode, Package

VECTORS = [
    line.split("\t")
    for line in (Path(__file__).parents[1] / "vectors" / "cells.txt").read_text(encoding="utf-8").split("\n")
    if line and not line.startswith("#")
]


@pytest.mark.parametrize(("text", "canonical"), [v[1:] for v in VECTORS if v[0] == "ok"])
def test_good_vectors(text, canonical):
    assert str(parse(text)) == canonical
    assert str(parse(canonical)) == canonical


@pytest.mark.parametrize(("text", "column", "words"), [v[1:] for v in VECTORS if v[0] == "bad"])
def test_bad_vectors(text, column, words):
    text = "" if text == "<empty>" else text
    with pytest.raises(CellError) as caught:
        parse(text)
    assert caught.value.column == int(column)
    assert words in str(caught.value)
    assert str(caught.value).startswith(f"cell '{text}', column {column}: ")
    assert "\n" not in str(caught.value)


def test_there_are_vectors_of_both_kinds():
    assert sum(v[0] == "ok" for v in VECTORS) >= 40
    assert sum(v[0] == "bad" for v in VECTORS) >= 40


# Properties

numbers = st.one_of(st.integers(0, 9), st.integers(0, 9999))


@st.composite
def flows(draw):
    kind = draw(st.sampled_from(["h2d", "d2h", "peer", "local", "stream", "gpu_stream"]))
    a, b = draw(numbers), draw(numbers)
    tasks = draw(st.sampled_from([1, 1, 2, 10, 64]))
    threads = tasks > 1 and draw(st.booleans())
    if kind == "stream":
        kernel = draw(st.sampled_from(KERNELS))
        return Flow(Endpoint("c", a), Endpoint("n", b), kernel=kernel)
    if kind == "gpu_stream":
        memory = draw(st.sampled_from([Endpoint("g", a), Endpoint("g", b), Endpoint("n", b)]))
        return Flow(Endpoint("g", a), memory, kernel=draw(st.sampled_from(KERNELS)))
    if kind == "local":
        gpu = Endpoint("g", a)
        return Flow(gpu, gpu, draw(st.sampled_from([None, gpu])), sm=draw(st.booleans()), tasks=tasks, threads=threads)
    if kind == "peer":
        source, destination = Endpoint("g", a), Endpoint("g", b if b != a else (a + 1) % 10000)
        flags = draw(st.sampled_from([{}, {"sm": True}, {"staged": True}]))
        driver = draw(st.sampled_from([None, source, destination]))
        return Flow(source, destination, driver, tasks=tasks, threads=threads, **flags)
    flags = draw(st.sampled_from([{}, {"sm": True}, {"pageable": True}, {"huge": True}, {"sm": True, "huge": True}]))
    ends = (Endpoint("n", a), Endpoint("g", b))
    source, destination = ends if kind == "h2d" else ends[::-1]
    driver = draw(st.one_of(st.none(), st.builds(Endpoint, st.just("n"), numbers)))
    return Flow(source, destination, driver, tasks=tasks, threads=threads, **flags)


cells = st.lists(flows(), min_size=1, max_size=6, unique=True).map(lambda found: Cell(tuple(found)))


@given(cells)
def test_printing_and_parsing_are_inverse(cell):
    assert parse(str(cell)) == cell
    assert parse(str(cell)).flows == cell.flows


@given(cells, st.sampled_from(["near", "off_socket", "NV18", "SYS_on", "off_socket_over_near"]), st.data())
def test_names_of_metrics_are_words_and_reversible(cell, path_class, data):
    names = {(None, False): metric_name(path_class, cell), (None, True): metric_name(path_class, cell, total=True)}
    flow = data.draw(st.sampled_from(cell.flows))
    names[(flow, False)] = metric_name(path_class, cell, flow)
    assert len(set(names.values())) == 3
    for (of, total), name in names.items():
        assert re.fullmatch(r"[A-Za-z0-9_.]+", name)
        parts = parse_metric_name(name)
        assert (parts.path_class, parts.cell, parts.flow, parts.total) == (path_class, cell, of, total)


@settings(max_examples=400)
@given(st.one_of(st.text(max_size=30), st.text(alphabet="ngc019:+@/xsmhugetriad ", max_size=30)))
def test_any_text_is_a_cell_or_a_users_error(text):
    try:
        assert parse(str(parse(text))) == parse(text)
    except CellError as error:
        assert 1 <= error.column <= len(text) + 1
        assert len(str(error).splitlines()) == 1


@settings(max_examples=300)
@given(st.one_of(st.text(max_size=30), st.text(alphabet="ngc01_.ofatx", max_size=40)))
def test_any_word_is_a_metrics_name_or_a_users_error(text):
    try:
        parts = parse_metric_name(text)
    except NearfarError:
        return
    assert metric_name(parts.path_class, parts.cell, parts.flow, parts.total) == text


def test_names_of_the_design():
    assert metric_name("off_socket", parse("n0:g1")) == "off_socket.n0_g1"
    both = parse("n0:g0+g0:n0")
    assert metric_name("near", both, both.flows[1]) == "near.n0_g0__g0_n0.of.g0_n0"
    assert metric_name("near", both, total=True) == "near.n0_g0__g0_n0.total"
    assert metric_name("sole", parse("n0:g0@n1/sm")) == "sole.n0_g0_at_n1.sm"


def test_cells_are_equal_as_sets_but_keep_their_order():
    one, other = parse("n0:g0+g0:n0"), parse("g0:n0+n0:g0@n0")
    assert one == other
    assert len({one, other}) == 1
    assert str(one) != str(other)
    assert one != parse("n0:g0")


def test_cells_as_people_read_them():
    assert pretty(parse("n0:g0+g0:n0@n1/x4")) == "n0→g0 + g0→n0 @n1 /x4"


# Files of cells


def test_lines_of_a_file(tmp_path):
    path = tmp_path / "cells"
    path.write_text("# the matrix\nn0:g0\r\n\nn0:g0+g0:n0\n")
    assert [str(cell) for cell in parse_lines(path)] == ["n0:g0", "n0:g0+g0:n0"]


def test_errors_in_a_file_name_line_and_column(tmp_path):
    path = tmp_path / "cells"
    path.write_text("n0:g0\n\nn0:g0+q1:n0\n")
    with pytest.raises(NearfarError, match=re.escape(f"{path}:3:7: cell 'n0:g0+q1:n0': expected an endpoint")):
        parse_lines(path)


def test_files_that_cannot_be_read(tmp_path):
    with pytest.raises(NearfarError, match="missing: cannot read cells: No such file"):
        parse_lines(tmp_path / "missing")
    (tmp_path / "binary").write_bytes(b"\xff\xfe")
    with pytest.raises(NearfarError, match="not UTF-8"):
        parse_lines(tmp_path / "binary")


def test_standard_input(monkeypatch):
    import io

    monkeypatch.setattr("sys.stdin", io.StringIO("n0:g0\nn0:\n"))
    with pytest.raises(NearfarError, match="<standard input>:2:4:"):
        parse_lines("-")


# Generators


def node(memories, gpus, **rest):
    """A node of ``memories`` (index, package, cpus, bytes) and ``gpus`` (numa_node, package)."""
    return Node(
        hostname="constructed",
        packages=tuple(Package(p, ()) for p in sorted({m[1] for m in memories})),
        numa_nodes=tuple(NumaNode(index, package, cpus, size) for index, package, cpus, size in memories),
        gpus=tuple(Gpu(i, f"0000:{i:02x}:00.0", numa_node=n, package=p) for i, (n, p) in enumerate(gpus)),
        **rest,
    )


def two_packages(**rest):
    return node([(0, 0, (0, 1), 1 << 30), (1, 1, (2, 3), 1 << 30)], [(0, 0), (1, 1)], **rest)


def test_matrix_of_two_gpus_and_two_numa_nodes():
    found, skips = host_device_matrix(two_packages())
    assert not skips
    assert [str(c) for c in found[:6]] == ["n0:g0", "g0:n0", "n0:g0+g0:n0", "n1:g0", "g0:n1", "n1:g0+g0:n1"]
    assert len(found) == 2 * 2 * 3
    assert [cell_class(two_packages(), c) for c in found] == ["near"] * 3 + ["off_socket"] * 6 + ["near"] * 3


def test_no_gpus_no_cells():
    assert host_device_matrix(node([(0, 0, (0,), 1 << 30)], [])) == ([], [])


def test_memory_that_the_cpuset_denies_is_skipped_with_its_reason():
    found, skips = host_device_matrix(two_packages(allowed_numa_nodes=(1,)))
    assert {f.numa_node for c in found for f in c.flows} == {1}
    assert {s.code for s in skips} == {"not_allowed"}
    assert len(skips) == 6
    assert "NUMA node 0" in skips[0].reason


def test_hidden_gpus_are_skipped():
    hidden = two_packages()
    gpus = (hidden.gpus[0], Gpu(1, "0000:01:00.0", numa_node=1, package=1, visible=False))
    found, skips = host_device_matrix(Node("x", hidden.packages, hidden.numa_nodes, gpus))
    assert {f.gpus for c in found for f in c.flows} == {(0,)}
    assert {s.code for s in skips} == {"denied"}


def test_memory_without_cpus_is_driven_from_the_nearest_allowed_cpus():
    memories = [(0, 0, (0,), 1 << 30), (1, 1, (1,), 1 << 30), (2, 1, (), 1 << 30)]
    by_package = node(memories, [(0, 0)])
    assert "n2:g0@n1" in map(str, host_device_matrix(by_package)[0])
    by_distance = node(memories, [(0, 0)], distances={(2, 0): 15, (2, 1): 30})
    assert "n2:g0@n0+g0:n2@n0" in map(str, host_device_matrix(by_distance)[0])
    restricted = node(memories, [(0, 0)], allowed_cpus=(0,))
    assert {"n1:g0@n0", "n2:g0@n0", "n0:g0"} <= set(map(str, host_device_matrix(restricted)[0]))


def test_numa_nodes_without_memory_and_gpu_memory_are_no_host_memory():
    parts = two_packages()
    extra = (NumaNode(2, 0, (4,), 0), NumaNode(3, None, (), 1 << 30, kind="gpu", gpu=0))
    grown = Node("x", parts.packages, parts.numa_nodes + extra, parts.gpus)
    assert host_device_matrix(grown) == host_device_matrix(parts)


def test_a_capture_without_cores_keeps_the_default_driver():
    bare = node([(0, 0, (), 1 << 30), (8, 1, (), 1 << 30)], [(0, 0)])
    assert all(flow.driver is None for cell in host_device_matrix(bare)[0] for flow in cell.flows)


def test_many_numa_nodes_get_one_representative_for_each_package_class_and_distance():
    count = 16
    memories = [(i, i // 8, (i,), 1 << 30) for i in range(count)]
    # Own 10, the neighbour in its pair 11, the package 12, the other package 32.
    distances = {
        (a, b): 10 if a == b else 11 if a // 2 == b // 2 else 12 if a // 8 == b // 8 else 32
        for a in range(count)
        for b in range(count)
    }
    many = node(memories, [(3, 0), (12, 1)], distances=distances)
    found, skips = host_device_matrix(many)
    lone = [str(c) for c in found if c.lone and c.flows[0].direction == "h2d"]
    assert lone == ["n0:g0", "n2:g0", "n3:g0", "n8:g0", "n0:g1", "n8:g1", "n12:g1", "n13:g1"]
    assert {s.code for s in skips} == {"representative"}
    assert len(found) + len(skips) == 2 * count * 3
    reason = next(s.reason for s in skips if str(s.cell) == "n9:g0")
    assert "n8:g0" in reason


def test_stream_matrix():
    assert [str(c) for c in stream_matrix(two_packages())] == [
        "c0:n0/triad",
        "c0:n1/triad",
        "c1:n0/triad",
        "c1:n1/triad",
        "c0:n0/triad+c1:n1/triad",
    ]
    assert [str(c) for c in stream_matrix(node([(0, 0, (0,), 1 << 30)], []))] == ["c0:n0/triad"]
    classes = [cell_class(two_packages(), c) for c in stream_matrix(two_packages())]
    assert classes == ["local", "off_socket", "off_socket", "local", "local"]


def test_stream_matrix_respects_the_cpuset_and_many_nodes():
    assert [str(c) for c in stream_matrix(two_packages(allowed_cpus=(2,), allowed_numa_nodes=(0,)))] == ["c1:n0/triad"]
    many = node([(i, i // 8, (i,), 1 << 30) for i in range(16)], [])
    found = stream_matrix(many)
    assert len(found) == 6 + 1
    assert len(found[-1].flows) == 16


def test_flows_know_what_they_are():
    kinds = {
        "n0:g0": ("host", "h2d", (0,)),
        "g0:n0/sm": ("host", "d2h", (0,)),
        "g0:g1": ("peer", "p2p", (0, 1)),
        "g0:g0": ("local", "d2d", (0,)),
        "g0:g0/sm": ("local", "d2d", (0,)),
        "c0:n1/add": ("stream", "add", ()),
        "g0:g0/triad": ("gpu_stream", "triad", (0,)),
        "g0:n1/copy": ("gpu_stream", "copy", (0,)),
        "g0:g1/scale": ("gpu_stream", "scale", (0, 1)),
    }
    for text, (kind, direction, gpus) in kinds.items():
        flow = parse(text).flows[0]
        assert (flow.kind, flow.direction, flow.gpus) == (kind, direction, gpus), text


def test_classes_of_what_gpus_do_in_their_own_memory_and_compute_elsewhere():
    here = two_packages()
    classes = {text: cell_class(here, parse(text)) for text in (
        "g0:g0", "g1:g1/sm", "g0:g0+g1:g1", "g0:g0/triad", "g0:n0/triad", "g0:n1/triad", "g0:g1/triad", "g0:g0+n0:g0",
    )}  # fmt: skip
    assert classes == {
        "g0:g0": "device_local", "g1:g1/sm": "device_local", "g0:g0+g1:g1": "device_local", "g0:g0/triad": "device_local",
        "g0:n0/triad": "near", "g0:n1/triad": "off_socket", "g0:g1/triad": "SYS_off", "g0:g0+n0:g0": "mixed",
    }  # fmt: skip
    assert cell_class(here, parse("g7:g7")) == "unknown"
    assert metric_name("device_local", parse("g0:g0/sm")) == "device_local.g0_g0.sm"


def test_classes_of_what_the_node_lacks_are_unknown():
    assert cell_class(two_packages(), parse("n0:g7")) == "unknown"
    assert cell_class(two_packages(), parse("c0:n7/triad")) == "unknown"
    assert cell_class(two_packages(), parse("n0:g0+n0:g1")) == "mixed"
