"""What all checks of a node share: cells in, one run of a program, a judged document out.

A check's class names its question (``nearfar/question``), which has what it asks; everything else is here. On a partition with
the feature ``modelled`` the prediction answers instead.
"""

import contextlib
import functools
import json
import os
import shlex
import socket
import sys
from pathlib import Path

import reframe.core.runtime as rt
import reframe.utility.sanity as sn
from reframe.core.builtins import fixture, run_after, run_before, sanity_function, variable
from reframe.core.exceptions import SanityError
from reframe.core.logging import getlogger

from nearfar import history, measurement, topology, verdict
from nearfar.base import NearfarError, node_lock, places, text_or_empty, utc_text, write_atomically
from nearfar.cells import Cell
from nearfar.question import messages
from nearfar.run import on_the_node
from nearfar.site import gpu_count, must_exist, systems, topology_diff
from nearfar.verdict import CaseInfo, LookPlan, case_files, look_plan, references, verdict_file

from . import measured_together, session
from .node_run import node_run


@functools.lru_cache(maxsize=1)
def node_history():
    """The history's word on the nodes of this session."""
    return history.NodeHistory()


class node_check(node_run):
    """One question asked of one node."""

    #: Seconds before each of the two times that what lies beyond its bound is measured again.
    #:
    #: :type: float
    #: :default: ``5.0``
    look_spacing = variable(float, value=verdict.thresholds.SPACING, loggable=True)

    #: Nothing that could not be judged is accepted: no reference, siblings alone, a topology that nobody reviewed.
    #:
    #: :type: bool
    #: :default: ``False``, or ``True`` where ``NEARFAR_ACCEPTANCE=1``
    acceptance = variable(bool, value=os.environ.get("NEARFAR_ACCEPTANCE") == "1", loggable=True)

    #: A check of which nothing was judged, though the node has what it asks for, is no answer: INDETERMINATE.
    #:
    #: :type: bool
    #: :default: ``False``, or ``True`` where ``NEARFAR_MUST_JUDGE=1`` (jobs of sweeps)
    must_judge = variable(bool, value=os.environ.get("NEARFAR_MUST_JUDGE") == "1", loggable=True)

    #: Faults of modelled nodes, as ``nearfar predict --degrade`` takes them (``g2.h2d=0.5``), with blanks between.
    #:
    #: :type: str
    #: :default: ``NEARFAR_DEGRADE``, or none
    degrade = variable(str, value=os.environ.get("NEARFAR_DEGRADE", ""), loggable=True)

    #: Seconds that the program itself ran.
    #:
    #: :type: float
    seconds = variable(float, value=0.0, loggable=True)

    require_reference = True

    #: What the check asks, of ``nearfar.question``; each check names its own.
    question = None

    #: Whether its program is run again for what lies beyond its bound.
    looks_again = True
    #: Whether its job has to know the node beforehand: how many ranks to start. Others ask what there is when they are there.
    needs_known_node = False
    #: The program's document, where that is not its standard output.
    document_file = None

    # What a class may say otherwise, by its variables and by what it knows of the partition.

    def cells(self, node):
        """The cells to ask for, and those that are left out with a reason (``cells.Skip``)."""
        if not self.partition.modelled and (why := self.question.unanswerable(node)):
            raise NearfarError(why)
        return self.question.cells(node)

    def program_options(self):
        """Options of the program beside the cells and the GPUs."""
        return list(self.question.options)

    def findings(self, document):
        """What the check finds out beside the figures."""
        return self.question.findings(document)

    @property
    def program(self):
        return self.question.program

    @run_after("init")
    def take_from_the_question(self):
        """ReFrame's description, tags and systems. The systems are always set: another suite's test that sets its own in the body of its
        class can leave a default to all tests of the session."""
        self.descr = self.question.description
        self.tags = {*self.tags, *self.question.tags, self.question.name.removesuffix("_check")}
        self.maintainers = ["The nearfar authors"]
        system = session.system()
        fitting = [p.name for p in system.partitions.values() if self.question.fits(system.name, p.name, p.features)]
        self.valid_systems = [f"{system.name}:{name}" for name in fitting]

    # What it is about.

    #: What the job was told to measure again; None: nothing.
    looks_planned = None
    #: The run that measured for this check among others; None: the check runs its program itself.
    measured_by = None

    @run_after("setup")
    def know_the_node(self):
        """The expected node (the site's), and the one at hand where that is this machine."""
        with self.users_errors():
            self.read_site()

    @run_after("setup")
    def choose_cells(self):
        self.asked, self.left_out, self.note = [], [], None
        if self.expected is None:
            with self.users_errors():
                self.refuse_unknown_node()
            return
        with self.users_errors():
            self.asked, self.left_out = self.cells(self.expected)
        nothing = not self.asked and not self.left_out
        self.note = self.question.without_cells(self.expected) if nothing else None
        # What may not be measured is no reason to skip: it is said, and INDETERMINATE.
        skipped = nothing and not self.note and not gpu_count.findings(self.partition, self.observed, None)
        self.skip_if(skipped and self.question.nothing_to_ask, self.question.nothing_to_ask)

    def refuse_unknown_node(self):
        """Raises ``NearfarError`` where the check must know what its job will find."""
        if self.needs_known_node:
            place = f"partition '{self.partition.name}' of ReFrame's system '{self.current_system.name}'"
            raise NearfarError(
                f"{self.question.name} has to know the node before its job starts, and no file describes the nodes of {place}: run "
                f"nearfar detect --site {self.current_system.name} on one of them"
            )

    @run_before("run")
    def set_executable(self):
        if self.expected is None:
            self.ask_on_the_node()
            return
        limit = self.limit_for(self.asked)
        with self.users_errors():
            wait = 0 if self.partition.modelled else node_lock.wait()
        self.time_limit = wait + limit + 30
        if not self.partition.modelled and not self.runs_here:
            self.env_vars["PYTHONPATH"] = f'"{places.IMPORT_PATH}${{PYTHONPATH:+:$PYTHONPATH}}"'
            self.prerun_cmds = [f"{shlex.quote(sys.executable)} -m nearfar detect --json > {case_files.NODE}"]
        self.executable = "true"
        if not self.asked:
            return
        stage, cells = Path(self.stagedir), Path(self.stagedir, "cells.txt")
        with self.users_errors():
            write_atomically(cells, "".join(f"{cell}\n" for cell in self.asked))
            if not self.partition.modelled:
                self.require_program()
            lock = [] if self.partition.modelled else ["--wait", f"{wait:g}"]
            program = self.command(cells)
            self.looks_planned = plan = self.plan_looks(cells if str(cells) in program else None)
            if self.take_own_part():
                if plan is not None and look_plan.in_doubt(plan, text_or_empty(stage / case_files.FIRST)):
                    self.start_python(
                        "-m",
                        "nearfar.verdict.look_again",
                        look_plan.PLAN,
                        "--first",
                        case_files.FIRST,
                        *lock,
                        "--",
                        *program,
                    )
                return
            supervisor = ["nearfar.base.supervise"] if plan is None else ["nearfar.verdict.look_again", look_plan.PLAN]
            self.start_python("-m", *supervisor, "--limit", f"{limit:g}", *lock, "--", *program)

    #: Why its program may not have been built, and what helps.
    lacking, remedy = (
        "no CUDA was found",
        "load it in the environment, or name built programs: NEARFAR_PROGRAMS=/a/folder",
    )

    def require_program(self):
        """Raises ``NearfarError`` where the program was not built."""
        program = Path(self.programs.folder, self.program)
        own = self.program.startswith("nearfar-") and self.programs.container is None
        if program.exists() or not own or self.is_dry_run():
            return
        if self.programs.environment.built_here:
            raise NearfarError(
                f"{self.program} was not built, because {self.lacking}: {self.remedy} ({self.programs.origin})"
            )
        raise NearfarError(f"{program} is not there: it was not built, because {self.lacking} ({self.programs.origin})")

    def ask_on_the_node(self):
        """Let the job find out what the node has, and ask for that."""
        partition = self.partition
        request = on_the_node.JobRequest(
            self.question.name, self.current_system.name, partition.features, partition.expect, partition.references, partition.host,
            [str(directory) for directory in systems.site().directories], self.program_limit, self.cell_limit, self.look_spacing,
            self.looks_again,
        )  # fmt: skip
        with self.users_errors():
            self.require_program()
            path = request.write(Path(self.stagedir))
            program = self.command(Path(self.stagedir, on_the_node.CELLS))
        self.start_python("-m", "nearfar.run.on_the_node", str(path), "--", *program)

    def take_what_was_there(self):
        """What the job found out: the node, the cells, and what it measured again. Raises ``NearfarError`` where it left no description."""
        stage = Path(self.stagedir)
        if self.observed is None:
            raise NearfarError(f"the job did not describe its node: {case_files.last_line(stage / str(self.stderr))}")
        self.expected = self.partition.expected_node(None, self.observed, self.models)
        self.asked, self.left_out = self.cells(self.expected)
        self.note = None if self.asked or self.left_out else self.question.without_cells(self.expected)
        if (stage / look_plan.PLAN).exists():
            self.looks_planned = look_plan.read(stage / look_plan.PLAN)

    def take_own_part(self):
        """Take what one run measured for this check among others; returns whether it measured all that is asked here."""
        together = getattr(self, "together", None)
        if together is None or self.program_options() != list(self.question.options):
            return False
        if not together.has_answered(measured_together.lines_of(self.question, self.asked), self.asked):
            return False
        self.measured_by = together
        own = measurement.part(together.document.raw, set(self.asked), self.question.aspect)
        write_atomically(Path(self.stagedir, case_files.FIRST), json.dumps(own))
        return True

    def plan_looks(self, cells):
        """Let the job measure again what lies beyond a bound, where any figure has one; ``cells``: the file with the program's."""
        if self.partition.modelled or not self.looks_again:
            return None
        figures = self.question.known_figures(self.expected, self.partition.features)
        bounds = on_the_node.bounded(self.references_of(figures, {}))
        if not bounds:
            return None
        whole = 0.0 if cells is not None else self.cell_limit * len(self.asked)
        plan = LookPlan(
            self.question.name, self.expected, bounds, None if cells is None else str(cells), self.document_file,
            self.program_limit + whole, self.cell_limit, self.look_spacing,
        )  # fmt: skip
        plan.write(Path(self.stagedir))
        self.time_limit += plan.seconds(len(self.asked) if cells is not None else 0)
        return plan

    def command(self, cells):
        """The program's command line."""
        if self.partition.modelled:
            predict = [sys.executable, "-m", "nearfar", "predict", "--node", self.partition.node_type]
            faults = [word for fault in self.degrade.split() for word in ("--degrade", fault)]
            return [*predict, "--cells", str(cells), "--json", *faults]
        return self.program_command("--cells", str(cells), "--json", "--absent-fails", *self.program_options())

    # What comes of it.

    @sanity_function
    def judged(self):
        """Judge the document, write it and the verdict down, and fail on all that is no figure outside its bounds."""
        with self.users_errors():
            if self.observed is None and not self.partition.modelled:
                self.observed = case_files.read_node(Path(self.stagedir))
            if self.expected is None:
                self.take_what_was_there()
            document, findings = self.read_document()
            # What memory carries at most is known where the job runs, if no file of the site says it.
            node = topology.with_peaks_of(self.expected, self.observed)
            self.metrics = [] if document is None else self.question.figures(document, node)
            stamp = {} if document is None else document.raw["node"].get("software", {})
            findings += [*self.findings(document), *self.find_references(stamp)]
            if document is not None and self.observed is not None and self.kind == "measured" == document.kind:
                findings += topology_diff.another_node(document, self.observed)
            if self.question.counts_gpus or not self.asked:
                findings += gpu_count.findings(self.partition, self.observed, document)
            judge = functools.partial(
                verdict.judge, document, self.references, subject=self.subject, metrics=self.metrics, asked=self.asked,
                left_out=self.left_out, kind=self.kind, acceptance=self.acceptance and self.kind == "measured", exists=self.known(document),
                quantities=self.question.quantities,
                must_judge=(self.acceptance or self.must_judge) and self.kind == "measured" and not self.note,
                host=self.partition.host_of(self.observed),
                later=self.later_looks(document), earlier=self.earlier(),
            )  # fmt: skip
            # The first verdict says which figures of which boards are to be looked for.
            past, notes = self.find_past(document, judge(findings=findings))
            self.verdict = judge(past=past, findings=[*findings, *notes])
            self.keep(document)
        self.seconds = case_files.program_seconds(Path(self.stagedir))
        if self.measured_by is not None and document is not None:
            self.seconds += document.raw["seconds"]
        if verdict.needs_sanity(self.verdict):
            raise SanityError(verdict.headline(self.verdict))
        return sn.assert_true(True)

    def known(self, document):
        """Who says that what the program took for unsupported must exist (``verdict.KnownPath`` by cell or other subject)."""
        if document is None or self.kind != "measured":
            return {}
        if all(skip.code != "unsupported" for skip in document.skipped):
            return {}
        links = must_exist.links(self.system, self.partition, self.node_type, self.expected, self.models)
        figures = self.question.figures_of(self.asked, self.expected, self.partition.features)
        tuned = must_exist.rows(figures, self.question.references_of, self.reference_files, self.expected)
        asked = [subject for subject in self.asked if isinstance(subject, Cell)]
        return {**tuned, **must_exist.cells(asked, self.expected, links)}

    def find_references(self, stamp):
        """Set the figures' references; returns what is wrong with the site's."""
        self.references, unused = self.references_of(self.metrics, stamp), []
        if any(reference is not None and reference.stale for reference in self.references.values()):
            levels = history.fleet_levels.read(history.directory(), self.current_system.name, self.partition.name)
            self.references = self.references_of(self.metrics, stamp, levels)
        models = sorted({gpu.name for gpu in self.expected.gpus if gpu.name})
        if self.kind == "measured":
            for check, figures in references.by_check(self.question, self.metrics).items():
                unused += verdict.from_unused_references(self.reference_files, check, figures, self.references, models)
        return unused

    def references_of(self, figures, stamp, levels=()):
        """The references of figures by name; None where there is none. ``levels``: what the fleet has with each software."""
        return references.of_question(
            self.question, figures, self.reference_files, self.expected, self.partition.host_of(self.observed), kind=self.kind,
            node_type=self.node_type, stamp=stamp, ranges=self.ranges, levels=levels, system=self.current_system.name,
        )  # fmt: skip

    def find_past(self, document, judged):
        """The node's own healthy runs by metric, what they say of its host, and a note where they cannot be read: that fails nothing."""
        if document is None or document.kind != "measured" or self.kind != "measured":
            return {}, []
        observed = {} if self.observed is None else topology.node_to_document(self.observed)
        try:
            past = node_history().of(judged, observed)
            host = node_history().of_host(judged, self.partition.host_of(self.observed))
            left_out = node_history().left_out()
        except NearfarError as error:
            return {}, [history.messages.UNREADABLE.finding(verdict.HISTORY, error=str(error))]
        notes = [history.messages.LEFT_OUT.finding(verdict.HISTORY, error=left_out)] if left_out else []
        return past, [*host, *notes]

    @run_after("sanity")
    def say_what_is_modelled(self):
        """ReFrame calls a modelled case OK: the line beside it says that nothing was measured."""
        if self.kind == "modelled":
            getlogger().warning(f"{self.name}: MODELLED ({self.partition.node_type} node): nothing was measured")

    @run_before("performance")
    def hand_over_the_bounds(self):
        """ReFrame's performance stage gets the figures on which the verdict rests, and the very bounds that it knew; of a dry
        run, which judges nothing, none."""
        if self.is_dry_run():
            return
        bounds = {}
        for metric in self.verdict.metrics:
            self.perf_variables[metric.name] = sn.make_performance_function(sn.defer(metric.value), metric.unit)
            reference = self.references[metric.name]
            bounds[metric.name] = (
                (0, None, None, metric.unit)
                if reference is None
                else (reference.value, reference.lower, reference.upper, metric.unit)
            )
        self.reference = {self.current_partition.fullname: bounds}

    @property
    def hostname(self):
        if self.partition.modelled:
            return self.partition.node_type
        if self.observed is not None:
            return self.observed.hostname
        nodes = self.job.nodelist if self.job else None
        return nodes[0] if nodes else socket.gethostname()

    @property
    def subject(self):
        now = utc_text()
        return CaseInfo(
            self.name,
            self.current_system.name,
            self.current_partition.name,
            self.current_environ.name,
            self.hostname,
            now,
        )

    def read_document(self):
        """The program's document (None where it left none), and what its end says."""
        stage = Path(self.stagedir)
        if not self.asked:
            notes = [self.note] if self.note else []
            modelled = self.partition.node_type if self.partition.modelled else None
            return case_files.observation(self.observed or self.expected, modelled), notes
        ran = self.measured_by or self
        printed = Path(ran.stagedir, str(ran.stdout))
        first = stage / case_files.FIRST
        return case_files.read(
            Path(ran.stagedir), first if first.is_file() else printed, Path(ran.stagedir, str(ran.stderr))
        )

    def later_looks(self, first):
        """What the job measured again after the ``first`` document."""
        if self.looks_planned is None:
            return []
        return look_plan.later_looks(Path(self.stagedir), self.looks_planned, first)

    def earlier(self):
        """The verdict of this case before ReFrame ran it again (``--max-retries``)."""
        return verdict_file.read(self.folder) if rt.runtime().current_run > 0 else None

    @property
    def node_folder(self):
        """The node's folder in the run directory."""
        return case_files.run_directory() / (f"{self.hostname}-modelled" if self.partition.modelled else self.hostname)

    @property
    def folder(self):
        """The case's own folder in it."""
        return case_files.folder_of(self.node_folder, self.subject, getattr(self, ".repeat_no", 0) + 1)

    def keep(self, document):
        """Write what the case left into the run directory."""
        stage, folder = Path(self.stagedir), self.folder
        ran = self.measured_by or self
        stderr = Path(ran.stagedir, str(ran.stderr)) if ran.job and ran.job.stderr else None
        if self.observed is not None:
            case_files.keep_node(self.node_folder, self.observed)
        if rt.runtime().current_run > 0:
            case_files.set_aside(folder)
        case_files.keep(folder, document, self.verdict, stderr, look_plan.files(stage))

    @contextlib.contextmanager
    def users_errors(self):
        """A user's mistake becomes the case's one line, and a verdict that says so."""
        try:
            yield
        except NearfarError as error:
            cause, earlier = messages.ERROR.finding("case", error=str(error)), None
            with contextlib.suppress(NearfarError):
                earlier = self.earlier()
            self.verdict = verdict.judge(
                None, {}, subject=self.subject, findings=[cause], kind=self.kind, earlier=earlier
            )
            with contextlib.suppress(NearfarError):
                self.keep(None)
            raise SanityError(verdict.headline(self.verdict)) from None


class copy_check(node_check):
    """A check whose cells one run of ``nearfar-copy`` measures together with those of others."""

    together = fixture(measured_together.copies, scope="environment")
