# Set-up on a fresh machine: `make demo` and `make test`; each installs what it needs into .venv.
PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
EXTRAS := advisor,cloud,gdb,nvml,sqlite
# The CPU build is a tenth of what the index of packages gives on Linux; where this one is out of reach, that will do.
TORCH := torch==2.13.0
TORCH_INDEX ?= https://download.pytorch.org/whl/cpu
# make PIP='uv pip' takes a fifth of the processor time, where uv is installed in the environment.
PIP ?= pip
INSTALL_TORCH = -m $(PIP) install --quiet --index-url $(TORCH_INDEX) $(TORCH)

.PHONY: screenshots site demo test pytest test-all check-fast test-lowest sanitized threads fuzz check docs study thesis cross-layer advisor lenet accuracy bench clean

demo: $(VENV)/installed
	@$(BIN)/tracelens demo

# Said before anything is installed: most of the first run's time is these packages.
test: announce check pytest

announce:
	@echo "make test: the first run installs torch (CPU), Jupyter through HTA, and Ray into $(VENV), which are gigabytes;"
	@echo "then ruff, mypy and all tests run, which takes many minutes. make check-fast runs the fast tests only."

# By file, for its tests share what they collect; in the order of tests/conftest.py, which has the longest files first.
# Many tests wait for a program: three processes keep two cores busy. Each takes 10 s to import all tests, so CI, which
# runs other checks at the same time, asks for two.
WORKERS ?= 3
# With one thread of Polars in each process: with more, six files of tests took 7 % more processor time (37.5 s for 34.8 s),
# and a third more while two workers shared two cores. The run with captures and test-lowest use as many threads as users do.
ONE_THREAD := POLARS_MAX_THREADS=1
PYTEST = -m pytest --dist loadfile --no-loadscope-reorder -n $(WORKERS)
# First as in a clone that has no captures beside it; then what those add, where they are: the tests that did not pass.
pytest: $(VENV)/installed-for-tests
	$(ONE_THREAD) TRACELENS_CAPTURES=/nowhere $(BIN)/python $(PYTEST) -m 'not exhaustive' -p tests.two_runs --note-passed build/passed.txt
	$(BIN)/python $(PYTEST) -m 'not exhaustive' -p tests.two_runs --leave-out build/passed.txt

# With what takes long and catches nothing that another test misses.
test-all: $(VENV)/installed-for-tests
	$(BIN)/python $(PYTEST)

# The loop to work in: no processes, no large samples, few examples. pytest caches compiled tests.
check-fast: export TRACELENS_EXAMPLES := 10
check-fast: WORKERS := 2
check-fast: $(VENV)/installed-for-tests
	env -u PYTHONDONTWRITEBYTECODE $(BIN)/python $(PYTEST) -q -m fast

# With the lowest versions that pyproject.toml allows: every analysis, and what each package is for. What combines, exports
# or shows traces otherwise takes no package that these do not. Then torch traces are read without the native library. Real
# ones are the samples: the tests above read more captures.
LOWEST_TESTS := analyses_registry cli export_perfetto formats gdb_live nsys nvml store trace
# What gdb makes of a compiled program is the same whatever reads it; how a command writes where it cannot, what it imports
# and how long an answer is depend on no version.
NOT_LOWEST := inlined or tail_calls or forwarded or the_thread_is_the_one or 16000_frames or skipped_and_limited or \
  cannot_be_written or seen_enough or only_ascii or loads_nothing or takes_30_kb
WITHOUT_LIBRARY := nesting torch_formats
FEW := not hypothesis and not exhaustive
test-lowest sanitized: export TRACELENS_CAPTURES := /nowhere
test-lowest: $(VENV)-lowest/installed
	$(VENV)-lowest/bin/python -m pytest -q -m '$(FEW)' -k 'not ($(NOT_LOWEST))' $(LOWEST_TESTS:%=tests/test_%.py)
	TRACELENS_NATIVE=off $(VENV)-lowest/bin/python -m pytest -q -m '$(FEW)' $(WITHOUT_LIBRARY:%=tests/test_%.py)

# The tests that reach the native library, and a fuzzer of what it reads, with every access and every sum checked. What
# only compares the same reading with others, takes the plain path, reads one more trace of a kind or another layout of the
# same, changes a trace by chance as the fuzzer does, or starts a program, which would load the other library, is left to
# the tests above. In one process: to begin takes long there.
NATIVE_TESTS := torch_fast torch_damage nesting_fast call_tree_fast op_times_fast idle_fast string_hash host_tracks
NOT_SANITIZED := by_both or other_tests or linear or standard_library or captures or a_trace_changed or any_bytes \
  or which_path or plain or resnet50_train
CHECKS := address,undefined
FUZZ_INPUTS ?= 30000
sanitized: $(VENV)/installed-for-tests
	rm -rf build/sanitized
	TRACELENS_SANITIZE=$(CHECKS) $(BIN)/python setup.py --quiet build_ext --build-lib build/sanitized --build-temp build/objects
	ASAN_OPTIONS=detect_leaks=0 LD_PRELOAD="$$(cc -print-file-name=libasan.so)" TRACELENS_EXAMPLES=10 \
	  $(BIN)/python -m pytest -q -p tests.sanitized -m 'not exhaustive' -k 'not ($(NOT_SANITIZED))' $(NATIVE_TESTS:%=tests/test_%.py)
	ASAN_OPTIONS=detect_leaks=0 LD_PRELOAD="$$(cc -print-file-name=libasan.so)" $(BIN)/python -m tools.fuzz.calls 2000
	$(BIN)/python -m tools.fuzz.calls 2000 --failing-memory
	$(BIN)/python -m tools.fuzz $(FUZZ_INPUTS)

# What two threads do at once in the native library.
threads: export TRACELENS_SANITIZE := thread
threads: $(VENV)/installed-for-tests
	rm -rf build/sanitized
	$(BIN)/python setup.py --quiet build_ext --build-lib build/sanitized --build-temp build/objects
	setarch -R env LD_PRELOAD="$$(cc -print-file-name=libtsan.so)" $(BIN)/python -m tools.fuzz.calls 200 --threads

# Hours, most of them for sources; what was run so far is written down in docs/decisions.md.
fuzz: $(VENV)/installed-for-tests
	$(BIN)/python -m tools.fuzz 10000000
	$(BIN)/python -m tools.fuzz.sources 3000

check: $(VENV)/installed-for-tests
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy

docs: $(VENV)/installed
	$(BIN)/python docs/generate.py

# The abstraction study's page from its captures; samples/study/run.py takes those on a machine with a GPU.
study: $(VENV)/installed
	$(BIN)/python -m samples.study.analyse

# The thesis's page from its captures; samples/thesis/run.py takes those on a machine with a GPU.
thesis: $(VENV)/installed
	$(BIN)/python -m samples.thesis.analyse

# The cross-layer page from all bundled captures; samples/cross_layer/language.py takes its own on a machine with a GPU.
cross-layer: $(VENV)/installed
	$(BIN)/python -m samples.cross_layer.analyse

# LeNet's page from its captures; samples/lenet/run.py takes those.
lenet: $(VENV)/installed
	$(BIN)/python -m samples.lenet.analyse

# How often the verdict is right, on every bundled capture; samples/planted/construct.py writes those that are worked out.
accuracy: $(VENV)/installed
	$(BIN)/python -m samples.accuracy.accuracy_page

# The advisor's page from its captures; samples/advisor/run.py takes those on a machine with a GPU.
advisor: $(VENV)/installed
	$(BIN)/python -m samples.advisor.analyse

# Pictures of pages from bundled captures, at four widths, light and dark; it needs chromium.
screenshots: $(VENV)/installed
	$(BIN)/python -m tools.screenshots

# The documentation as a site, in build/site; a link that leads nowhere ends it.
site: $(VENV)/installed-for-site
	$(BIN)/python -m tools.site
	NO_MKDOCS_2_WARNING=1 $(BIN)/mkdocs build --strict --quiet

# Takes half an hour and 3 GB of disk; BENCH=--quick tries it out, BENCH=--large adds a trace of 2 GB.
bench: $(VENV)/installed-for-bench
	$(BIN)/python -m benchmarks $(BENCH)

# An environment of its own; 25.1 is the first pip that knows of groups.
$(VENV)/made $(VENV)-lowest/made:
	@echo 'first run: installs what tracelens needs into $(@D), about a minute' >&2
	@$(PYTHON) -m venv $(@D)
	@$(@D)/bin/python -m pip install --quiet --upgrade 'pip>=25.1'
	@touch $@

NATIVE := setup.py $(wildcard tracelens/native/*.[ch])
# setuptools warns of folders that are called as the package; here the one in the checkout is the package.
QUIET_EDITABLE := PYTHONWARNINGS='ignore:Editable installation'
$(VENV)/installed: pyproject.toml $(NATIVE) $(VENV)/made
	@$(QUIET_EDITABLE) $(BIN)/python -m $(PIP) install --quiet --editable .
	@touch $@

$(VENV)/torch: $(VENV)/made
	PIP_RETRIES=1 PIP_TIMEOUT=15 UV_HTTP_RETRIES=1 $(BIN)/python $(INSTALL_TORCH) || $(BIN)/python -m $(PIP) install --quiet $(TORCH)
	touch $@

$(VENV)/installed-for-tests: pyproject.toml $(NATIVE) $(VENV)/torch
	$(BIN)/python -m $(PIP) install --quiet --editable '.[$(EXTRAS),cluster,mcp]' --group dev --group hta --group readers --group store
	touch $(VENV)/installed $@

$(VENV)-lowest/installed: pyproject.toml tests/lowest.txt $(VENV)-lowest/made
	$(VENV)-lowest/bin/python -m $(PIP) install --quiet --constraint tests/lowest.txt --editable '.[$(EXTRAS)]' perfetto --group test
	touch $@

$(VENV)/installed-for-site: $(VENV)/installed
	$(BIN)/python -m pip install --quiet --group site
	touch $@

$(VENV)/installed-for-bench: $(VENV)/installed
	$(BIN)/python -m pip install --quiet --editable '.[$(EXTRAS)]' --group hta orjson connectorx
	-$(BIN)/python -m pip install --quiet ijson
	-PIP_RETRIES=1 PIP_TIMEOUT=15 UV_HTTP_RETRIES=1 $(BIN)/python $(INSTALL_TORCH) || $(BIN)/python -m $(PIP) install --quiet $(TORCH)
	touch $@

clean:
	rm -rf $(VENV) $(VENV)-lowest build dist *.egg-info tracelens/native/*.so
