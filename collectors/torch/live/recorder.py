"""Run torch.profiler over the chosen steps or time, in one process of the program."""

from __future__ import annotations

import contextlib
import importlib
import re
import threading
import time
from collections.abc import Callable, Iterator
from typing import Any

import torch
from torch.profiler import ProfilerAction

from .at_exit import at_end, held_interrupts, is_main_thread, later
from .cupti import is_always_detached, leave_attached
from .light import LightWindow
from .main_thread import at_thread_end
from .modules import ModuleCalls, describe_modules, numbered_modules
from .opening import Opening
from .own_calls import OwnCalls
from .schedule import Schedule
from .settings import Settings
from .settling import LONG_PAUSE_NS, Settling, has_workers, steps_in_a_turn
from .status_file import DONE, RECORDING, StatusFile
from .step_times import ACTIVE, FIRST, PLAIN, SETTLING, WARMUP, StepTimes
from .steps import BEGIN_STEPS, StepFinder
from .window import Window, export_trace

BUSY = (
    "steps ran in another thread while the main thread was inside one call, where the recording of"
    " the program's beginning could not be ended; begin it with them: --wait 0 --warmup 0"
)
THREAD_ENDED = "the thread whose steps were recorded ended before all steps asked for"
THREAD_RUNS_ON = (
    "the program ended while another of its threads was still in a step, where its recording could"
    " not be ended; join that thread, or record fewer steps: --active 1"
)
FOREIGN = (
    "the program runs torch.profiler itself, and two cannot run at once; collect the trace that it"
    " exports: tracelens collect torch FILE"
)


class Recorder:
    """Records one window of one process.

    After `watch`, no further call is needed. `finish` ends the recording early. `status` gets the
    facts for the collector. The trace is written as soon as the window is over.
    """

    def __init__(self, settings: Settings, status: StatusFile) -> None:
        self.settings = settings
        self.status = status
        self.finder = StepFinder(self._first, self._boundary, self._begin_anew)
        self.n = 0
        self._schedule = Schedule(settings)
        self.times = StepTimes()
        self._n_after = 0
        self._turn = 1
        self._settling = Settling()
        self._is_settled = True
        self._first_marked = 0
        self._window: Any = None
        self._calls: ModuleCalls | None = None
        self._owner = 0
        self._is_done = False
        self._is_only_timing = False
        self._is_saved = False
        self._is_finished = False
        self._is_counted = True
        self._own_calls = OwnCalls()
        self._opening = Opening(settings, self._own_calls, self._noting_failures)
        self._light = LightWindow(
            settings, status.light_trace, self._own_calls, self._light_saved, status.note
        )
        self._others: list[Any] = []
        self._undo: list[Callable[[], None]] = []

    def watch(self, *, is_child: bool = False) -> None:
        """Watch for steps, or for the chosen time, and for the end of the program.

        Start the recorders of `settings.recorders`, too.
        """
        for name in self.settings.recorders:
            other = importlib.import_module(f"{__package__}.{name}").Recorder()
            other.start()
            self._others.append(other)
        self._undo.append(at_end(self.finish, self._forked))
        self._undo.append(self._own_calls.guard(self._foreign))
        self.finder.install(is_child=is_child)
        if self.settings.window_s is not None and not is_child:
            start, length = self.settings.window_s
            self._undo.append(
                later(
                    start,
                    lambda: self._begin(length),
                    self._own_calls.must_wait,
                )
            )
        elif self.settings.opening and not is_child and is_main_thread():
            self._undo += self._opening.begin()

    def mark(self) -> None:
        """End a step here, as the program requests."""
        self.finder.mark()

    def begin_now(self) -> None:
        """Start step 0 here, before the program has shown where its first step begins."""
        self._first()

    # ---- steps

    def _first(self) -> None:
        """Begin the work of step 0."""
        if self.times.began_ns is None:
            if self.settings.window_s is None:
                self._follow(0)
            self.times.begin(self._state())

    def _boundary(self) -> None:
        """End one step and begin the next."""
        if self._is_finished or self.times.began_ns is None:
            return
        if self._is_only_timing:
            self._time_step()
            return
        ended_ns = time.perf_counter_ns()
        state = self._state()
        self.times.end(self.n, state, is_after=self._is_done)
        is_after = self._is_done and state in (PLAIN, SETTLING)
        self._settling.end_step()
        self._n_after += is_after and self._settling.is_over()
        self.n += 1
        with self._noting_failures():
            if self._window is not None and not self._is_done:
                self._step()
            elif self.settings.window_s is None and not self._is_done:
                self._follow(self.n)
        self._follow_light()
        if self.n == self.times.fast_from:
            leave_attached()
        if self._is_timed():
            self.finder.remove()
        pause_ns = time.perf_counter_ns() - ended_ns
        if self._is_done and pause_ns > LONG_PAUSE_NS:
            self._settling.begin(pause_ns, self.finder.n_workers)
        self._is_settled = self._settling.is_over()
        state = self._state()
        is_recorded = self._is_done and self._light.is_over(self.n)
        self._is_only_timing = is_recorded and state == PLAIN
        self.times.begin(state)

    def _time_step(self) -> None:
        """Time one step and begin the next, with little work, because work here slows the steps."""
        self.times.go_on(self.n)
        self.n += 1
        if self.times.is_run_complete():
            self.finder.remove()

    def _is_timed(self) -> bool:
        """Return whether all windows are over, and enough steps were timed after them."""
        is_recorded = self._is_done and self._light.is_over(self.n)
        return is_recorded and self.times.is_run_complete()

    def _state(self) -> str:
        """Return the profiler's state in step `self.n`."""
        if self._is_done:
            is_plain = self._n_after and self._is_settled
            return self._light.state(self.n) or (PLAIN if is_plain else SETTLING)
        action = self._schedule.action(self.n)
        if self.settings.window_s is not None and (self._window is None or not self.n):
            # The mark of step 0 begins where the window does, which may be long before the step.
            action = ProfilerAction.NONE
        if action is ProfilerAction.NONE:
            return PLAIN if self.n else FIRST
        return WARMUP if action is ProfilerAction.WARMUP else ACTIVE

    def _follow(self, n: int) -> None:
        """Switch the profiler on at the beginning of step n, if the schedule says so.

        Called while the profiler is off.
        """
        if n or self._schedule.is_on(0):
            self._close_opening()
        if self._schedule.is_on(n) and not self._is_done:
            self._start()

    def _close_opening(self) -> None:
        """End the recording of the program's beginning, or note that it cannot be ended."""
        if not self._opening.close_from_any_thread():
            self.status.note(BUSY)
            self._is_done = True

    def _begin_anew(self) -> bool:
        """Forget the steps so far, and begin the schedule anew at the next step.

        Return False, and do nothing, if the recording is over or records a time, not steps.
        """
        if self._is_done or self._is_finished or self.settings.window_s is not None:
            return False
        if self.settings.active is not None:
            self._schedule.first = self.n + 1
            self.times.forget()
            self._drop_window()
            self.finder.recorded()
        return True

    # ---- the window

    def _begin(self, length: float | None) -> None:
        """Begin the window. If `length` is not None, end the window `length` seconds later."""
        with self._noting_failures():
            self._start()
        if length is not None:
            self._undo.append(later(length, self._end, self._own_calls.must_wait))

    def _start(self) -> None:
        """Switch the profiler on at step `self.n`."""
        first = self._first_marked = self.n
        self._window = Window.of(
            self.settings,
            schedule=lambda n: self._schedule.action(max(n, first)),
            on_trace_ready=self._save,
        )
        self._window.step_num = first
        self.status.reach(RECORDING)
        if self.settings.modules and not self.settings.stacks:
            self.finder.stop_spying()
            self._calls = ModuleCalls(self.finder.call_begins)
            self._calls.install()
        # If ModuleCalls marks the calls, torch's own __call__ need not be kept.
        with (
            self._own_calls.marked(),
            self.finder.untouched_calls() if self._calls is None else contextlib.nullcontext(),
        ):
            self._window.start()
        self._owner = threading.get_ident()
        if not is_main_thread():
            at_thread_end(self._owner_ends)

    def _owner_ends(self) -> None:
        """End the window before the thread that began it ends.

        If the profiler was still warming up, a step of another thread begins the window again.
        """
        window, self._window = self._window, None
        # No other thread can stop the profiler.
        if window is not None:
            with self._noting_failures(), self._own_calls.marked():
                window.stop()
            if self._is_saved:
                self.status.note(THREAD_ENDED)

    def _step(self) -> None:
        with self._own_calls.marked():
            self._window.step()
        if self._is_done:
            self._end()

    def _end(self) -> None:
        """Switch the profiler off after its data was saved."""
        window, self._window = self._window, None
        if window is not None and self._owner != threading.get_ident():
            self.status.note(THREAD_RUNS_ON)
            self._is_done = True
        elif window is not None:
            with self._noting_failures(), self._own_calls.marked():
                window.stop()
            self._is_done = True

    def _save(self, profiler: Any) -> None:
        """Write the trace and the modules' facts. Called in the step that ends the window."""
        self._is_done = True
        self._turn = self.times.turn = steps_in_a_turn(self.finder.n_workers)
        if self._calls is not None:
            self._calls.remove()
        self.finder.recorded()
        began = time.perf_counter_ns()
        with held_interrupts():
            if not self._is_finished and self.settings.window_s is None:
                self.times.wait_ended(profiler.stopped_ns)
            # CUPTI slows later steps unless it is taken out. Waits for a loader may hide this.
            self.times.is_slower_after = not (is_always_detached() or has_workers())
            export_trace(profiler, self.status.trace, self._part_steps(profiler))
            self._is_saved = True
            self._describe(profiler)
            self.status.facts["export_ns"] = time.perf_counter_ns() - began
            # If the program is killed from here on, the trace is not lost.
            self._write_others()
            self._count()
            self.status.write()

    def _describe(self, profiler: Any) -> None:
        """Add facts that the trace lacks: source lines, the BLAS library, and modules."""
        facts = self.status.facts
        with self._noting_failures():
            facts["lines"] = profiler.lines.facts(profiler) if profiler.lines else None
        built_with = re.search(r"BLAS_INFO=(\w+)", torch.__config__.show())
        facts["blas"] = built_with.group(1) if built_with else None
        if self.settings.modules:
            facts["is_marked"] = self._calls is not None
            with self._noting_failures():
                facts.update(describe_modules(self._seen(profiler), self.finder.main))

    # ---- the light window, after the first one

    def _follow_light(self) -> None:
        """Switch the light window on or off at the beginning of step `self.n`."""
        if not self._is_done:
            return
        if not self._is_saved or not is_main_thread():
            self._light.drop()
            return
        if not self._n_after:
            self._light.plan(self.n, self._turn)
        self._light.begin_step(self.n)

    def _light_saved(self, window: Window) -> None:
        """Write the light window's step times to the status file, after its trace was written."""
        self.times.wait_ended(window.stopped_ns)
        if window.is_cupti_detached:
            self.times.fast_from = self.n + 1
        self._count()
        self.status.write()

    def _seen(self, profiler: Any) -> dict[str, int]:
        """Return the address of each module by its name in the trace."""
        if self._calls is None:
            return dict(numbered_modules(profiler, self.status.trace))
        return {name: id(module) for name, module in self._calls.seen.items()}

    def _part_steps(self, profiler: Any) -> set[int]:
        """Return the marked steps that are incomplete.

        Return an empty set if no marked step is complete, as in a program without steps.
        """
        whole = self.times.whole()
        # Without a whole step, the mark around the recording keeps its name.
        return set(range(self._first_marked, profiler.step_num + 1)) - whole if whole else set()

    # ---- the end

    def finish(self) -> None:
        """End the recording and keep it, because the program or the capture ends."""
        if self._is_finished:
            return
        self._is_finished = True
        self.finder.remove()
        if self.times.began_ns is not None and self.finder.source in BEGIN_STEPS:
            # The last step ends with the program. It counts, but its time is not typical.
            self.times.end(self.n, self._state(), is_after=self._is_done, note=", to the end")
            self.n += 1
        self._end()
        self._light.drop()
        with self._noting_failures():
            self._opening.close()
            if not self._is_saved and self._opening.profiler is not None:
                with held_interrupts():
                    export_trace(self._opening.profiler, self.status.trace)
                self.status.facts["is_opening"] = True
        self._write_others()
        for other in self._others:
            with self._noting_failures():
                other.stop()
        for undo in self._undo:
            undo()
        self._count()
        self.status.reach(DONE)

    def _write_others(self) -> None:
        for other in self._others:
            with self._noting_failures():
                other.write(self.status.stem)

    def _count(self) -> None:
        """Write the number and the times of the steps so far into the status file's facts."""
        facts = self.status.facts
        facts["source"] = self.finder.source
        facts["n_steps"] = self.n
        facts["is_counted"] = self._is_counted and not self._is_timed()
        facts["n_active"] = len(self.times.whole())
        facts["n_other_trainers"] = len(self.finder.other_trainers)
        facts["step_ns"] = self.times.step_ns[-1000:]
        facts |= self.times.facts()

    def _forked(self) -> None:
        """Record nothing in a forked child, because the parent records."""
        self._is_finished = True
        self.finder.remove()

    @contextlib.contextmanager
    def _noting_failures(self) -> Iterator[None]:
        """Turn a failure of the profiler in the `with` block into a note.

        The failure ends the capture, not the program.
        """
        try:
            yield
        except Exception as error:  # noqa: BLE001 - the program must go on
            self._is_done = True
            self._window = None
            self.status.note(f"the profiler failed: {type(error).__name__}: {str(error)[:300]}")

    def _foreign(self) -> None:
        """Stop recording and timing, because the program starts torch's profiler itself."""
        # The program would crash, because torch takes a replaced `Module.__call__` for its own.
        self.finder.remove()
        self._is_counted = False
        self._light.drop()
        leave_attached()
        if not self._is_finished and not self._is_done:
            self.status.note(FOREIGN)
            self._is_done = True
            self._drop()

    def _drop(self) -> None:
        """Stop recording, and keep nothing."""
        self._drop_window()
        with contextlib.suppress(Exception), self._own_calls.marked():
            self._opening.drop()

    def _drop_window(self) -> None:
        window, self._window = self._window, None
        if self._calls is not None:
            self._calls.remove()
        with contextlib.suppress(Exception), self._own_calls.marked():
            if window is not None:
                window.on_trace_ready = None
                window.stop()
