"""What was measured in words that terminals and pages share: the answer, a row for each scheme, bindings, what to do next."""

from __future__ import annotations

import shlex
from collections.abc import Sequence
from dataclasses import dataclass

from nearfar.base import plural
from nearfar.topology import format_cpu_list

from .answers import difference
from .layouts import RankPlace
from .measured import Measured, SchemeRuns
from .pairs import LEAST_PAIRS, Penalty
from .running import RankBinding

#: How the words begin that say why a measurement stopped whose budget was over.
OVER = "the budget of"
#: Ranks whose binding a line names.
_RANKS = 16


@dataclass(frozen=True)
class Subject:
    """What was run: the program's words, the launcher in words (``Open MPI 4.1.4``), its name, ranks, the host, its NUMA nodes and
    GPUs; ``bind`` are the words of ``nearfar bind`` that say what ``right`` is."""

    program: tuple[str, ...]
    launcher: str
    launcher_name: str
    ranks: int
    host: str
    numa_nodes: int
    gpus: int
    bind: tuple[str, ...] = ()

    @property
    def words(self) -> str:
        """``./app -n 4, 2 ranks, Open MPI 4.1.4``."""
        return f"{shlex.join(self.program)}, {plural(self.ranks, 'rank')}, {self.launcher}"


def percent(part: float) -> str:
    """``+21.3 %``; nothing without a sign."""
    text = f"{part * 100:+.1f}"
    return f"{text[1:] if text[1:] == '0.0' else text} %".replace("-", "−")


def span(low: float, high: float) -> str:
    """``+18.0 to +24.9 %``."""
    return f"{percent(low).removesuffix(' %')} to {percent(high)}"


def number(value: float) -> str:
    """Four digits."""
    return f"{value:.4g}"


def state(found: Measured, scheme: SchemeRuns) -> str:
    """What is known of a scheme's penalty, in a word or two."""
    penalty = found.penalty(scheme)
    if penalty is None:
        return ""
    if penalty.interval is None:
        return f"fewer than {LEAST_PAIRS} pairs"
    if (differs := penalty.above(0.0)) is not None:
        return "dearer" if differs else "cheaper"
    if penalty.within(found.plan.resolution):
        return "the same"
    return "not settled"


def costs(penalty: Penalty) -> str:
    """The penalty with its interval: ``+21.3 % (+18.0 to +24.9 %)``."""
    if penalty.interval is None:
        return f"{percent(penalty.value)} ({plural(penalty.pairs, 'pair')}, {span(penalty.least, penalty.most)})"
    return f"{percent(penalty.value)} ({span(*penalty.interval)})"


def answer(found: Measured) -> str:
    """The whole in a sentence."""
    if wrong := answers(found):
        return wrong
    if not any(each.values for each in found.schemes):
        return f"nothing was measured: {found.ended}"
    known = [(each, found.penalty(each)) for each in found.compared]
    told = []
    for each, penalty in known:
        if penalty is None:
            continue
        word = state(found, each)
        costing = costs(penalty)
        if word in ("dearer", "cheaper"):
            told.append(f"{each.name} costs {costing}" if word == "dearer" else f"{each.name} gains {costing}")
        elif word == "the same":
            told.append(f"{each.name} is within {found.plan.resolution * 100:g} %")
        else:
            told.append(f"{each.name} {costing} is not settled")
    if not told:
        return f"nothing can be compared: {found.ended}"
    return f"against {found.reference.name}: {'; '.join(told)}"


def answers(found: Measured) -> str | None:
    """How the program's answers differ; None where they do not, or nobody asked."""
    if found.plan.answer is None:
        return None
    by_scheme = {
        each.name: [run.answer for run in each.runs if run.problem is None] for each in found.schemes if each.runs
    }
    return difference(by_scheme, found.plan.answer_within)


def against(found: Measured) -> str | None:
    """The bound and what is beyond it; None where none was named."""
    bound = found.plan.at_most
    if bound is None:
        return None
    limit = f"{bound * 100:g} %"
    open_ = "it is not settled whether it costs more"
    by_answer: dict[str, list[str]] = {"costs more": [], "costs no more": [], open_: []}
    for each in judged(found):
        penalty = found.penalty(each)
        above = None if penalty is None else penalty.above(bound)
        by_answer[open_ if above is None else "costs more" if above else "costs no more"].append(each.name)
    told = [f"{', '.join(names)}: {word} than {limit}" for word, names in by_answer.items() if names]
    return "; ".join(told) or f"nothing was compared with {limit}"


def judged(found: Measured) -> list[SchemeRuns]:
    """The schemes that the bound speaks of and that were run; one that has the reference's binding costs nothing."""
    names = {found.of(name).name for name in found.plan.judged}
    return [each for each in found.compared if each.name in names]


def moved(scheme: SchemeRuns) -> str | None:
    """That a program binds itself, against the scheme; None where it does not."""
    if scheme.scheme.places is None:
        return None
    ranks = sorted({b.rank for run in scheme.runs for b in run.bindings if b.moved})
    if not ranks:
        return None
    last = next(b for run in reversed(scheme.runs) for b in run.bindings if b.moved)
    return f"the program binds itself: rank {last.rank} ran on CPUs {format_cpu_list(last.running)}, bound to {format_cpu_list(last.cpus)}"


def notes(found: Measured) -> list[str]:
    """What a reader has to know of the schemes beside their figures, a sentence each."""
    told = []
    for name in dict.fromkeys(each.same_as for each in found.schemes if each.same_as is not None):
        alike = ", ".join(each.name for each in found.schemes if each.same_as == name)
        told.append(f"{alike}: the same CPUs and memory as {name} on this machine, so not run separately")
    for each in found.schemes:
        if each.left_out is not None:
            told.append(f"{each.name}: left out: {each.left_out}")
        if (words := moved(each)) is not None:
            told.append(f"{each.name}: not in effect: {words}")
        counted = [run for run in each.runs if run.problem is not None]
        if counted and each.left_out is None:
            told.append(f"{each.name}: {plural(len(counted), 'run')} not counted: {counted[-1].problem}")
        left = sorted({name for run in each.runs for name in run.left})
        if left:
            told.append(f"{each.name}: left processes behind, which were ended: {', '.join(left[:4])}")
    return told + _widths(found)


def _widths(found: Measured) -> list[str]:
    """That the ranks have not the same number of CPUs under all schemes, or are not as many."""
    width = {
        each.name: sum(len(b.cpus) for b in each.bindings) for each in found.schemes if each.active and each.bindings
    }
    own = width.get(found.reference.name)
    if own is None:
        return []
    others = [f"{name} {count}" for name, count in width.items() if count != own]
    return (
        [f"the ranks have not as many CPUs under each scheme: {found.reference.name} {own}, {', '.join(others)}"]
        if others
        else []
    )


def bindings(scheme: SchemeRuns) -> list[str]:
    """A line for each rank: what was in effect, by the last run that counts, else by the probe."""
    runs = [run.bindings for run in scheme.runs if run.problem is None]
    found = runs[-1] if runs else scheme.bindings
    lines = [binding(each) for each in found[:_RANKS]]
    return [*lines, *([f"and {len(found) - _RANKS} ranks more"] if len(found) > _RANKS else [])]


def binding(each: RankBinding) -> str:
    """``rank 0: CPUs 0-7, memory bind:0, GPUs 0``."""
    memory = f"{each.policy}:{format_cpu_list(each.memory)}" if each.memory else each.policy or "unknown"
    gpus = "" if each.gpus is None else f", GPUs {each.gpus or 'none'}"
    ran = f", ran on {format_cpu_list(each.running)}" if each.moved or each.narrowed else ""
    return f"rank {each.rank}: CPUs {format_cpu_list(each.cpus)}{ran}, memory {memory}{gpus}"


def next_step(found: Measured, subject: Subject) -> str:
    """What to do now: one sentence."""
    if found.interrupted:
        return "next: interrupted; what was measured until then is above, the same command begins anew"
    if answers(found):
        return "next: find out why the answer is not the same (threads, reductions, races) before its speed is compared"
    if not any(each.values for each in found.schemes):
        return _nothing_measured(found, subject)
    doubtful = [each.name for each in found.schemes if moved(each)]
    if doubtful:
        return f"next: switch off the program's own binding (under {', '.join(doubtful)} it was where it put itself), and run this again"
    open_ones = [each.name for each in found.compared if each.active and not found.settled(each)]
    default = next((each for each in found.compared if each.name == "default"), None)
    if open_ones and (default is None or not (known := found.penalty(default)) or not known.above(0.0)):
        more = f"--runs {2 * found.plan.runs} --budget {2 * found.plan.budget:.0f}s"
        return f"next: {', '.join(open_ones)} not settled: {more}, or a program whose figure varies less"
    return _settled(found, subject)


def _settled(found: Measured, subject: Subject) -> str:
    default = next((each for each in found.schemes if each.name == "default"), None)
    if default is None:
        return f"next: {launch_line(found, subject)} starts it as right does"
    penalty = found.penalty(default)
    differs = None if penalty is None else penalty.above(0.0)
    if differs:
        return f"next: start it as right does: {launch_line(found, subject)}"
    if differs is None and penalty is not None and not penalty.within(found.plan.resolution):
        return "next: nothing has to change for the bound; whether right costs less is not settled"
    word = "as good as" if differs is None else "better than"
    return f"next: nothing to change: what the launcher does is {word} {found.reference.name}"


def _nothing_measured(found: Measured, subject: Subject) -> str:
    others = [each for each in found.schemes if each is not found.reference]
    if found.reference.left_out is None and all(each.same_as is not None or not each.bindings for each in others):
        fewer = "ask for fewer cores of each rank (--threads-per-rank 1)"
        wide = any(len(binding.cpus) > 1 for binding in found.reference.bindings)
        ways = [*([fewer] if wide else []), *(["take other schemes (--schemes 2x2)"] if subject.numa_nodes > 1 else [])]
        ways += [] if subject.numa_nodes > 1 else ["measure on a node with several NUMA nodes"]
        return f"next: these schemes are all one here: {', or '.join(ways)}"
    if found.ended.startswith(OVER):
        return f"next: more time (--budget {2 * found.plan.budget:.0f}s), or less for the program to do"
    return "next: fix what is said above, and try the program by itself under the launcher first"


def launch_line(found: Measured, subject: Subject) -> str:
    """The command that binds the ranks as ``right`` does."""
    right = next((each for each in found.schemes if each.name == "right"), None)
    places: Sequence[RankPlace] = (right.scheme.places or ()) if right is not None else ()
    if subject.launcher_name != "none" or not places:
        form = {"openmpi": "openmpi", "mpich": "mpich", "srun": "slurm"}.get(subject.launcher_name, "numactl")
        return shlex.join(["nearfar", "bind", "--for", form, *subject.bind, *subject.program])
    cpus = format_cpu_list(places[0].cpus or ())
    if not places[0].memory:
        return shlex.join(["taskset", "-c", cpus, *subject.program])
    return shlex.join(
        ["numactl", f"--physcpubind={cpus}", f"--membind={format_cpu_list(places[0].memory)}", *subject.program]
    )
