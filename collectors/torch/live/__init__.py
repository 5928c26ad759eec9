"""Hold the code that runs inside the program of `tracelens collect torch` or `tl.capture`.

The program may run in another Python, so nothing here imports tracelens. `on-start/` is put on the
program's PYTHONPATH, and `on-start/sitecustomize.py` loads this folder as the package
`_tracelens_live`. Only the standard library and torch are used, and torch only after the program
has imported it.

- `settings`: the options of the capture, in one environment variable.
- `bootstrap`: selects the processes that record, right after the program's `import torch`.
- `steps`: finds where a step begins, from the optimizer, the data loader or calls of modules.
- `loops`, `turns`: find where a step begins in a loop that calls several modules.
- `outermost_calls`: watches outermost calls of modules, until steps are found.
- `recorder`: runs torch.profiler over the chosen steps or time.
- `opening`: records the program's beginning, kept if no step is found.
- `own_calls`: separates the recorder's calls of the profiler from the program's calls.
- `light`: records a second window of steps in less detail.
- `window`: the profiler, which waits until devices are idle.
- `cupti`: detaches CUPTI after the last window.
- `step_times`: measures steps with and without the profiler.
- `settling`: decides how long steps are not typical after a pause.
- `lines`: records the source lines that ran.
- `modules`: marks modules' calls, and records their paths, parameters and hyperparameters.
- `status_file`: writes facts for the collector beside the trace.
- `compile_provenance`: records the kernels that torch.compile generates, and their modules.
- `kernel_inputs`: describes the arguments of these kernels.
- `graph`, `observed_graph`: record the graph of the program's model.

`compile_provenance` and `graph` are further recorders, listed by module name in
`settings.recorders`. Such a module has a class `Recorder` with three methods:

- `start()` is called after torch is imported and before the program uses it.
- `write(stem)` is called when the window is over and again at the end. It writes files whose
  names begin with the path `stem`, and tracelens.collectors reads them with the trace.
- `stop()` is called last.

An exception of a recorder becomes a note, and never ends the program.
"""
