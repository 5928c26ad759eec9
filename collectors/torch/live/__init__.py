"""Code that runs inside the program of `tracelens collect torch -- COMMAND` or `tl.capture`.

Nothing here imports tracelens: the program's Python may be another one than tracelens runs in.
`on-start/` is put on its PYTHONPATH, and `on-start/sitecustomize.py` loads this folder as the
package `_tracelens_live`. Only the standard library and torch are used, and torch only after the
program has imported it.

- `settings`: the options of the capture, in one environment variable.
- `bootstrap`: which processes record. They begin right after the program's own `import torch`.
- `steps`: where a step begins, found from the optimizer, the data loader or the outermost module's
calls.
- `recorder`: torch.profiler over the chosen steps or time, and the end of the program.
- `opening`: the program's beginning, kept if no step is found.
- `own_calls`: which calls of the profiler are ours, and which the program's.
- `light`: a second window of steps, in which little is recorded.
- `window`: the profiler that waits until devices are idle, and the time of work on them.
- `step_times`: the time of steps with the profiler and without.
- `modules`: marks of modules' calls, their exact paths, parameters and hyperparameters.
- `status_file`: what each process leaves beside its trace, for the collector and for messages.
- `compile_provenance`: the kernels that torch.compile generates, and the modules they came from.
- `kernel_inputs`: the sizes of what these kernels read and write.

A further recorder, like `compile_provenance`, is found by the name of its module here, listed in
`settings.recorders`. Its class `Recorder` has three methods. `start()` is called after torch is
imported and before the program uses it. `write(stem)` is called when the window is over and again
at the end; its files' names begin with that path. `stop()` is called last. tracelens.collectors
reads those files beside the trace. Whatever a recorder raises is caught and reported as a note: it
never ends the program.
"""
