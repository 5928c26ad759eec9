"""Find where steps begin in a program that marks none itself."""

from __future__ import annotations

import contextlib
import functools
import sys
import threading
from collections import Counter
from collections.abc import Callable, Iterator
from types import FrameType
from typing import Any

import torch
from torch.optim.optimizer import Optimizer, register_optimizer_step_post_hook
from torch.utils.data import get_worker_info
from torch.utils.data.dataloader import _BaseDataLoaderIter, _DatasetKind

from .loops import Loop
from .outermost_calls import OutermostCalls
from .repeated_calls import COMPILED, GRAPH, watch_repeated_calls
from .turns import Step, Turns

OPTIMIZER, LOADER, MODULE, PROGRAM = "optimizer", "data loader", "outermost module", "program"
BEGIN_STEPS = (LOADER, MODULE, GRAPH, COMPILED)
"""Events that mark the beginning of a step. All other events mark its end."""
_UNDECIDED_CALLS = 20
_UNDECIDED_IN_TRAINING = 3000
"""In training mode, steps are found without the optimizer only after this many calls.

Programs may call modules often before their optimizer steps. CleanRL's PPO for continuous control
acts 2,048 times before it learns, and a recurrence calls its cell for each element of a sequence.
"""
_CALLS_OF_ONE_BATCH = 2
_N_TURNS_MISSED = 4
"""A loop has ended after this many iterations' worth of calls without a new iteration."""


class StepFinder:
    """Calls `first()` when the program's work begins, and `boundary()` between two steps.

    A step is found by one of these signs, the first that the program shows:

    - optimizer: a step ends after each call of `Optimizer.step`. If the program has several
      optimizers, only calls of the one that was called first count.
    - data loader: a step begins when a data loader is asked for a batch.
    - module: a step begins when an outermost module with parameters is called again. `Turns`
      handles loops that call several modules.
    - repeated call: a step begins when a CUDA graph or a compiled function runs again, and ends
      when backward has run again. This is only for programs that call no module.

    An optimizer replaces every other sign.
    """

    def __init__(
        self,
        first: Callable[[], None],
        boundary: Callable[[], None],
        begin_anew: Callable[[], bool] = lambda: True,
    ) -> None:
        self._first = first
        self._end_step = boundary
        self._begin_anew = begin_anew
        self._repeated: object = None
        self._n_calls: Counter[object] = Counter()
        self.source: str | None = None
        self.main: Any = None
        # Further threads that stepped an optimizer.
        self.other_trainers: set[int] = set()
        self._thread: threading.Thread | None = None
        self._optimizer: int | None = None
        self._has_optimizer = False
        self._n_undecided = 0
        self._called = False
        self._loads = False
        # The number of workers of the last used data loader.
        self.n_workers = 0
        self._n_since_batch = 0
        self._is_tracing = False
        self._is_paused = False
        self._is_settled = False
        self._is_recording = False
        self._is_handled = False
        self._turns = Turns()
        self._loop: Loop | None = None
        self._n_calls_in_turn, self._n_since_turn = 1, 0
        self._marking: list[Any] = []
        self._unhook: Callable[[], None] | None = None
        self._undo: list[Callable[[], None]] = []
        self._spied: list[Any] = []
        self._has_model = False
        self._module_calls = OutermostCalls(
            self.call_begins, self._needs_module_calls, lambda: self._is_recording
        )

    def install(self, *, is_child: bool = False) -> None:
        """Install the hooks in torch.

        The hooks cost under a microsecond per step. Calls of all modules are watched only until
        it is known what marks a step.
        """
        handle = register_optimizer_step_post_hook(self._stepped)
        self._undo.append(handle.remove)
        self._patch(Optimizer, "__init__", self._watch_optimizers)
        # In a child process only an optimizer counts, because data loaders' workers call modules,
        # too.
        if not is_child:
            self._turns.begin(sys._getframe(1))
            self._patch(_BaseDataLoaderIter, "__next__", self._watch_loaders)
            # Calls by torch.jit.trace are no steps.
            for name in ("trace", "trace_module"):
                self._patch(torch.jit, name, self._watch_tracing)
            self._undo.append(self._module_calls.stop)
            self._module_calls.install()
            self._undo.append(watch_repeated_calls(self._repeats))

    def remove(self) -> None:
        """Remove every hook from torch."""
        while self._undo:
            self._undo.pop()()

    def mark(self) -> None:
        """Mark a step on request of the program.

        From then on, other signs of a step are ignored.
        """
        source_before, self.source = self.source, PROGRAM
        self._note_work()
        # A step found just before the first mark is the step that this mark means.
        if source_before in (None, PROGRAM):
            self._boundary()

    def _patch(self, owner: Any, name: str, wrap: Callable[[Any], Any]) -> None:
        original = getattr(owner, name)
        setattr(owner, name, wrap(original))
        self._undo.append(lambda: setattr(owner, name, original))

    def _boundary(self) -> None:
        self._n_calls.clear()
        self._end_step()

    def _repeats(self, source: str, key: object) -> None:
        """Handle a call of a graph, a compiled function or backward. `key` is the called object."""
        if self.source == PROGRAM or self._is_tracing or not self._note_work():
            return
        self._n_calls[key] += 1
        if self.source is None:
            self._called = True
            is_again = self._n_calls[key] > (_CALLS_OF_ONE_BATCH if self._loads else 1)
            is_sign = is_again and not self._module_calls.is_inside() and not self._has_optimizer
        else:
            # Replays of a CUDA graph replace a sign that no longer comes, such as the optimizer of
            # a warm-up.
            is_left = source == GRAPH != self.source and self._n_calls[key] > _UNDECIDED_CALLS
            is_sign = is_left and self._begin_anew()
        if is_sign:
            self.source, self._repeated = source, key
        if self.source == source and self._repeated == key:
            self._boundary()

    def _note_work(self) -> bool:
        """Begin step 0 at the first work, and return whether steps are found in this thread."""
        # Threads are compared as objects, because the number of an ended thread is used again.
        me = threading.current_thread()
        if self._thread is None:
            if get_worker_info() is not None:
                return False
            self._thread = me
            self._first()
        return self._thread is me

    def _takes_over(self) -> bool:
        """Return whether steps are found in this thread from now on.

        This is so if the previous thread has ended or found no step.
        """
        assert self._thread is not None
        is_free = not self._thread.is_alive() or (self.source is None and not self._is_recording)
        if is_free:
            self._thread, self._optimizer = threading.current_thread(), None
        return is_free

    def _watch_optimizers(self, original: Any) -> Any:
        @functools.wraps(original)
        def init(optimizer: Any, *args: Any, **kwargs: Any) -> None:
            self._has_optimizer = True
            original(optimizer, *args, **kwargs)

        return init

    def _watch_tracing(self, original: Any) -> Any:
        @functools.wraps(original)
        def tracing(*args: Any, **kwargs: Any) -> Any:
            outer, self._is_tracing = self._is_tracing, True
            try:
                return original(*args, **kwargs)
            finally:
                self._is_tracing = outer

        return tracing

    def _stepped(self, optimizer: Any, _args: Any, _kwargs: Any) -> None:
        if torch.compiler.is_compiling():  # torch.compile(optimizer.step)
            return
        if not self._note_work() and not self._takes_over():
            self.other_trainers.add(threading.get_ident())
            return
        if self.source == PROGRAM:
            return
        if self._optimizer is None:
            self._optimizer = id(optimizer)
            self.source = OPTIMIZER
        if self.source == OPTIMIZER and self._optimizer == id(optimizer):
            self._boundary()

    def _watch_loaders(self, original: Any) -> Any:
        @functools.wraps(original)
        def following(iterator: Any) -> Any:
            if self._note_work() and not _has_given_all(iterator):
                self.n_workers = iterator._num_workers
                self._asked_for_batch()
            return original(iterator)

        return following

    def _asked_for_batch(self) -> None:
        if self.source is None and self._loads and self._called and self._may_decide():
            self.source = LOADER
        if self.source == LOADER:
            self._boundary()
        self._loads, self._called, self._n_since_batch = True, False, 0
        self._n_calls.clear()

    def _may_decide(self, most_calls: int = _UNDECIDED_CALLS) -> bool:
        """Return whether steps may be found without an optimizer.

        This is so without an optimizer, or if no optimizer steps within `most_calls` calls.
        """
        self._n_undecided += 1
        # A long evaluation before training has steps, too.
        return not self._has_optimizer or self._n_undecided > most_calls

    def _needs_module_calls(self) -> bool:
        """Return whether outermost calls of modules have to be watched to find steps."""
        has_no_hook = self._unhook is None or not self._is_settled
        may_mark = self.source is None or (self.source == MODULE and has_no_hook)
        return bool(self._undo) and may_mark and not self._is_paused

    def stop_spying(self) -> None:
        """Stop watching calls of modules when the recording begins.

        `ModuleCalls` watches all calls from then on, and reports outermost calls to `call_begins`.
        """
        self._module_calls.stop()
        self._is_paused = self._is_recording = True
        self._remove_hooks()

    def recorded(self) -> None:
        """Watch module calls again after the recording, if they mark the steps."""
        self._is_paused = self._is_recording = False
        if self._undo and self.source == MODULE and self._unhook is None:
            self._hook()
            self._is_settled = self._unhook is not None
        self._module_calls.resume()

    @contextlib.contextmanager
    def untouched_calls(self) -> Iterator[None]:
        """Keep torch's own nn.Module.__call__ while the recording begins.

        torch identifies module calls by the code of this method.
        """
        self._module_calls.stop()
        self._is_recording = True
        # With a hook, a step would begin inside the module's call, and the time of marking the step
        # would count for the module.
        self._remove_hooks()
        try:
            yield
        finally:
            self._module_calls.resume()

    def call_begins(self, module: Any) -> None:
        """Handle a call of a module that is not made inside another module."""
        if self._is_tracing or self.source not in (None, MODULE) or not self._note_work():
            return
        self._called = True
        caller = sys._getframe(1)
        if self._loop is not None:
            if self._unhook is None and not self._is_in_a_call() and self._may_mark(module):
                self._maybe_turn(module, caller)
                # If the turn put the hooks back, the module's own hook reports this call, too.
                is_marking = any(marking is module for marking in self._marking)
                self._is_handled = (
                    self._loop is not None and self._unhook is not None and is_marking
                )
            return
        if self.source == MODULE:
            self._maybe_another(module)
            return
        if not self._may_mark(module):
            return
        self._turns.note(module, caller)
        if not any(seen is module for seen in self._spied):
            self._spied.append(module)
            return
        self._n_since_batch += 1
        # A batch that is loaded once and used again and again marks no steps.
        from_loader = self._loads and self._n_since_batch <= _CALLS_OF_ONE_BATCH
        # In training mode, even without gradients: reinforcement learning acts before it learns.
        # Evaluation turns training mode off.
        trains = getattr(module, "training", False)
        most_calls = _UNDECIDED_IN_TRAINING if trains else _UNDECIDED_CALLS
        if not from_loader and self._may_decide(most_calls):
            step = self._turns.step(caller)
            if step is not None:
                self.source = MODULE
                self._undo.append(self._remove_hooks)
                self._begin_with(step, module)

    def _may_mark(self, module: Any) -> bool:
        """Return whether the module may be a model.

        A model has parameters or is scripted. Until such a module is called, a module with buffers
        may be a model, too.
        """
        # Scripting may freeze parameters into the module.
        is_scripted = isinstance(module, torch.jit.ScriptModule)
        if is_scripted or next(module.parameters(), None) is not None:
            self._has_model = True
            return True
        return not self._has_model and next(module.buffers(), None) is not None

    def _begin_with(self, step: Step, called: Any) -> None:
        """Begin steps as `step` describes. `called` is the module of the present call."""
        self._loop, self._n_calls_in_turn = step.loop, len(step.turn)
        if step.loop is None:
            self._begin_at_calls(step.module, is_called=step.module is called)
            return
        self.main = step.module
        self._marking = list({id(module): module for module in step.turn}.values())
        self._boundary()
        self._hook()
        self._is_settled = self._is_handled = self._unhook is not None

    def _maybe_turn(self, module: Any, caller: FrameType) -> None:
        """Begin a step if the loop that makes the steps has begun another iteration."""
        loop = self._turns.note(module, caller)
        self._n_since_turn += 1
        if loop is not None and self._loop is not None and loop.is_around(self._loop):
            self._n_since_turn = 0
            self._boundary()
        elif self._n_since_turn > _N_TURNS_MISSED * self._n_calls_in_turn:
            self._loop = None
            self._begin_at_calls(module)

    def _maybe_another(self, module: Any) -> None:
        """Handle a call of the main module, or of a module that may replace the main module.

        `module` replaces a main module that the loop no longer calls. It also replaces a main
        module that the loop calls several times between two calls of `module`.
        """
        if module is not self.main and (self._is_in_main() or not self._may_mark(module)):
            return
        self._turns.note(module)
        if self._turns.is_left(self.main):
            self._begin_at_calls(module)
        elif module is self.main:
            if self._unhook is None:
                self._boundary()
                # If the boundary ended the recording, the module's own hook reports this call, too.
                self._is_handled = self._unhook is not None
        elif self._turns.is_once(module, self.main) and self._begin_anew():
            self._is_settled = False
            self._begin_at_calls(module)

    def _is_in_main(self) -> bool:
        """Return whether the main module's call is running."""
        return any(called is self.main for called in self._module_calls.running())

    def _is_in_a_call(self) -> bool:
        """Return whether any module's call is running."""
        return next(self._module_calls.running(), None) is not None

    def _begin_at_calls(self, module: Any, *, is_called: bool = True) -> None:
        """Begin a step at each call of the module, and the first step now if `is_called`."""
        self._remove_hooks()
        self.main, self._marking = module, [module]
        self._hook()
        if self._unhook is None and is_called:
            self._boundary()

    def _hook(self) -> None:
        """Put hooks on the modules that mark steps, which costs less than watching all calls."""
        # Scripted modules take no hooks, and a hook of a module.compile() model would be compiled.
        # Calls of these modules are still watched.
        is_compiled = any(
            getattr(module, "_compiled_call_impl", None) is not None for module in self._marking
        )
        if self._is_recording or is_compiled:
            return
        with contextlib.suppress(RuntimeError), contextlib.ExitStack() as hooks:
            for module in self._marking:
                hooks.callback(module.register_forward_pre_hook(self._called_again).remove)
            self._unhook = hooks.pop_all().close

    def _remove_hooks(self) -> None:
        if self._unhook is not None:
            self._unhook()
            self._unhook = None

    def _called_again(self, module: Any, _args: Any) -> None:
        if torch.compiler.is_compiling():  # torch compiles a function around the module
            return
        if (
            self.source == MODULE
            and self._thread is threading.current_thread()
            and not self._is_tracing
        ):
            is_handled, self._is_handled = self._is_handled, False
            if self._loop is not None and not is_handled:
                self._maybe_turn(module, sys._getframe(1))
            elif not is_handled:
                self._boundary()


def _has_given_all(iterator: Any) -> bool:
    """Return whether a data loader has given its last batch. A further request begins no step."""
    with contextlib.suppress(AttributeError, TypeError, NotImplementedError):
        is_counted = iterator._dataset_kind == _DatasetKind.Map
        return bool(is_counted and iterator._num_yielded == len(iterator._index_sampler))
    return False
