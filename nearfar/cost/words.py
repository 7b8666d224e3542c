"""What was measured in words that terminals and pages share: the answer, a row for each scheme, bindings, what to do next."""

from __future__ import annotations

import shlex
from collections.abc import Sequence
from dataclasses import dataclass

from nearfar.base import plural
from nearfar.binding import LAUNCHERS
from nearfar.mpi import RankAccount, RankPlan
from nearfar.report.figures import percent, percents
from nearfar.topology import format_cpu_list

from .measured import Measured, SchemeRuns
from .pairs import LEAST_PAIRS, Penalty

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


def number(value: float) -> str:
    """Four digits."""
    return f"{value:.4g}"


def state(measured: Measured, scheme: SchemeRuns) -> str:
    """What is known of a scheme's penalty, in a word or two."""
    penalty = measured.penalty(scheme)
    if penalty is None:
        return ""
    if penalty.interval is None:
        return f"fewer than {LEAST_PAIRS} pairs"
    if (differs := penalty.above(0.0)) is not None:
        return "dearer" if differs else "cheaper"
    if penalty.within(measured.plan.resolution):
        return "the same"
    return "not settled"


def costs(penalty: Penalty) -> str:
    """The penalty with its interval: ``+21.3 % (+18.0 to +24.9 %)``."""
    if penalty.interval is None:
        return f"{percent(penalty.value)} ({plural(penalty.pairs, 'pair')}, {percents(penalty.least, penalty.most)})"
    return f"{percent(penalty.value)} ({percents(*penalty.interval)})"


def answer(measured: Measured) -> str:
    """The whole in a sentence."""
    if wrong := measured.answer_difference:
        return wrong
    if not any(scheme.values for scheme in measured.schemes):
        return f"nothing was measured: {measured.ended}"
    known = [(scheme, measured.penalty(scheme)) for scheme in measured.compared]
    forms = {
        "dearer": "costs {costs}", "cheaper": "gains {costs}", "the same": f"is within {measured.plan.resolution * 100:g} %",
    }  # fmt: skip
    compared = []
    for scheme, penalty in known:
        if penalty is not None:
            form = forms.get(state(measured, scheme), "{costs} is not settled")
            compared.append(f"{scheme.name} {form.format(costs=costs(penalty))}")
    if not compared:
        return f"nothing can be compared: {measured.ended}"
    return f"against {measured.reference.name}: {'; '.join(compared)}"


def against(measured: Measured) -> str | None:
    """The bound and what is beyond it; None where none was named."""
    bound = measured.plan.at_most
    if bound is None:
        return None
    limit = f"{bound * 100:g} %"
    open_ = "it is not settled whether it costs more"
    by_answer: dict[str, list[str]] = {"costs more": [], "costs no more": [], open_: []}
    for scheme in measured.judged:
        penalty = measured.penalty(scheme)
        above = None if penalty is None else penalty.above(bound)
        by_answer[open_ if above is None else "costs more" if above else "costs no more"].append(scheme.name)
    parts = [f"{', '.join(names)}: {word} than {limit}" for word, names in by_answer.items() if names]
    return "; ".join(parts) or f"nothing was compared with {limit}"


def moved(scheme: SchemeRuns) -> str | None:
    """That a program binds itself, against the scheme; None where it does not."""
    last = scheme.moved
    if last is None:
        return None
    return f"the program binds itself: rank {last.rank} ran on CPUs {format_cpu_list(last.running)}, bound to {format_cpu_list(last.cpus)}"


def notes(measured: Measured) -> list[str]:
    """What a reader has to know of the schemes beside their figures, a sentence each."""
    sentences = []
    for name in dict.fromkeys(scheme.same_as for scheme in measured.schemes if scheme.same_as is not None):
        alike = ", ".join(scheme.name for scheme in measured.schemes if scheme.same_as == name)
        sentences.append(f"{alike}: the same CPUs and memory as {name} on this machine, so not run separately")
    for scheme in measured.schemes:
        if scheme.left_out is not None:
            sentences.append(f"{scheme.name}: left out: {scheme.left_out}")
        if (moved_words := moved(scheme)) is not None:
            sentences.append(f"{scheme.name}: not in effect: {moved_words}")
        counted = [run for run in scheme.runs if run.problem is not None]
        if counted and scheme.left_out is None:
            sentences.append(f"{scheme.name}: {plural(len(counted), 'run')} not counted: {counted[-1].problem}")
        left = sorted({name for run in scheme.runs for name in run.left})
        if left:
            sentences.append(f"{scheme.name}: left processes behind, which were ended: {', '.join(left[:4])}")
    return sentences + _widths(measured)


def _widths(measured: Measured) -> list[str]:
    """That the ranks have not the same number of CPUs under all schemes, or are not as many."""
    width = {s.name: sum(len(b.cpus) for b in s.bindings) for s in measured.schemes if s.active and s.bindings}
    own = width.get(measured.reference.name)
    if own is None:
        return []
    others = ", ".join(f"{name} {count}" for name, count in width.items() if count != own)
    said = f"the ranks have not as many CPUs under each scheme: {measured.reference.name} {own}, {others}"
    return [said] if others else []


def bindings(scheme: SchemeRuns) -> list[str]:
    """A line for each rank: what was in effect, by the last run that counts, else by the probe."""
    runs = [run.bindings for run in scheme.runs if run.problem is None]
    in_effect = runs[-1] if runs else scheme.bindings
    lines = [binding(rank) for rank in in_effect[:_RANKS]]
    return [*lines, *([f"and {len(in_effect) - _RANKS} ranks more"] if len(in_effect) > _RANKS else [])]


def binding(rank: RankAccount) -> str:
    """``rank 0: CPUs 0-7, memory bind:0, GPUs 0``."""
    memory = f"{rank.policy}:{format_cpu_list(rank.memory)}" if rank.memory else rank.policy or "unknown"
    gpus = "" if rank.gpus is None else f", GPUs {rank.gpus or 'none'}"
    ran = f", ran on {format_cpu_list(rank.running)}" if rank.moved or rank.narrowed else ""
    return f"rank {rank.rank}: CPUs {format_cpu_list(rank.cpus)}{ran}, memory {memory}{gpus}"


def next_step(measured: Measured, subject: Subject) -> str:
    """What to do now: one sentence."""
    if measured.interrupted:
        return "interrupted; what was measured until then is above, the same command begins anew"
    if measured.answer_difference:
        return "find out why the answer is not the same (threads, reductions, races) before its speed is compared"
    if not any(scheme.values for scheme in measured.schemes):
        return _nothing_measured(measured, subject)
    doubtful = [scheme.name for scheme in measured.schemes if moved(scheme)]
    if doubtful:
        return f"switch off the program's own binding (under {', '.join(doubtful)} it was where it put itself), and run this again"
    open_ones = [scheme.name for scheme in measured.compared if scheme.active and not measured.settled(scheme)]
    default = next((scheme for scheme in measured.compared if scheme.name == "default"), None)
    if open_ones and (default is None or not (known := measured.penalty(default)) or not known.above(0.0)):
        more = f"--runs {2 * measured.plan.runs} --budget {2 * measured.plan.budget:.0f}s"
        return f"{', '.join(open_ones)} not settled: {more}, or a program whose figure varies less"
    return _settled(measured, subject)


def _settled(measured: Measured, subject: Subject) -> str:
    default = next((scheme for scheme in measured.schemes if scheme.name == "default"), None)
    if default is None:
        return f"{launch_line(measured, subject)} starts it as right does"
    penalty = measured.penalty(default)
    differs = None if penalty is None else penalty.above(0.0)
    if differs:
        return f"start it as right does: {launch_line(measured, subject)}"
    if differs is None and penalty is not None and not penalty.within(measured.plan.resolution):
        return "nothing has to change for the bound; whether right costs less is not settled"
    word = "as good as" if differs is None else "better than"
    return f"nothing to change: what the launcher does is {word} {measured.reference.name}"


def _nothing_measured(measured: Measured, subject: Subject) -> str:
    others = [scheme for scheme in measured.schemes if scheme is not measured.reference]
    if measured.reference.left_out is None and all(s.same_as is not None or not s.bindings for s in others):
        fewer = "ask for fewer cores of each rank (--threads-per-rank 1)"
        wide = any(len(binding.cpus) > 1 for binding in measured.reference.bindings)
        ways = [*([fewer] if wide else []), *(["take other schemes (--schemes 2x2)"] if subject.numa_nodes > 1 else [])]
        ways += [] if subject.numa_nodes > 1 else ["measure on a node with several NUMA nodes"]
        return f"these schemes are all one here: {', or '.join(ways)}"
    if measured.ended.startswith(OVER):
        return f"more time (--budget {2 * measured.plan.budget:.0f}s), or less for the program to do"
    return "fix the problem above, and try the program by itself under the launcher first"


def launch_line(measured: Measured, subject: Subject) -> str:
    """The command that binds the ranks as ``right`` does."""
    right = next((scheme for scheme in measured.schemes if scheme.name == "right"), None)
    places: Sequence[RankPlan] = (right.scheme.places or ()) if right is not None else ()
    if subject.launcher_name != "none" or not places:
        form = LAUNCHERS[subject.launcher_name].form if subject.launcher_name in LAUNCHERS else "numactl"
        return shlex.join(["nearfar", "bind", "--for", form, *subject.bind, *subject.program])
    cpus = format_cpu_list(places[0].cpus or ())
    if not places[0].memory:
        return shlex.join(["taskset", "-c", cpus, *subject.program])
    memory = format_cpu_list(places[0].memory)
    return shlex.join(["numactl", f"--physcpubind={cpus}", f"--membind={memory}", *subject.program])


def progress(measured: Measured, scheme: str, block: int, seconds: float, left: float | None) -> str:
    """One line for a run that is under way: ``wrong, run 3: 12 s; about 4 min left``."""
    which = "warm-up" if block == 0 else f"run {block}"
    most = _about(max(0.0, measured.plan.budget))
    remaining = "" if left is None else f"; about {_about(left)} left, at most {most} in all"
    return f"{scheme}, {which}: {seconds:.0f} s ({plural(sum(len(each.runs) for each in measured.schemes), 'run')} made){remaining}"


def _about(seconds: float) -> str:
    if seconds < 90:
        return f"{seconds:.0f} s"
    return f"{seconds / 60:.0f} min" if seconds < 5400 else f"{seconds / 3600:.1f} h"
