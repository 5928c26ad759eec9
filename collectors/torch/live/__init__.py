"""Hold the code that runs inside the program of `tracelens collect torch` or `tl.capture`.

Nothing here imports tracelens, because the program may run in another Python. `on-start/` is put on
the program's PYTHONPATH, and `on-start/sitecustomize.py` loads this folder as the package
`_tracelens_live`. Only the standard library and torch are used, and torch only after the program
has imported it.

- `settings`: the options of the capture, in one environment variable.
- `bootstrap`: which processes record. Recording begins right after the program's `import torch`.
- `steps`: where a step begins, found from the optimizer, the data loader or the outermost module's
calls.
- `loops`, `turns`: where a step begins in a loop that calls several modules.
- `recorder`: torch.profiler over the chosen steps or time, and the end of the program.
- `opening`: the program's beginning, kept if no step is found.
- `own_calls`: which calls of the profiler are the recorder's own, and which are the program's.
- `light`: a second window of steps, in which little is recorded.
- `window`: the profiler that waits until devices are idle, and the time of work on them.
- `step_times`: the time of steps with the profiler and without.
- `settling`: how long steps are not typical after a pause.
- `lines`: the source lines that ran.
- `modules`: marks of modules' calls, their exact paths, parameters and hyperparameters.
- `status_file`: the facts that each process leaves beside its trace, for the collector.
- `compile_provenance`: the kernels that torch.compile generates, and the modules they came from.
- `kernel_inputs`: the sizes of the arguments of these kernels.
- `graph`, `observed_graph`: the graph of the program's model.

`compile_provenance` and `graph` are further recorders. `settings.recorders` lists the names of
their modules. The class `Recorder` of such a module has three methods. `start()` is called after
torch is imported and before the program uses it. `write(stem)` is called when the window is over
and again at the end. It writes files whose names begin with the path `stem`. `stop()` is called
last. tracelens.collectors reads the files together with the trace. An exception of a recorder is
caught and reported as a note, and never ends the program.
"""
