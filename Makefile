# Set-up on a fresh machine: `make demo` and `make test`; each installs what it needs into .venv.
PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
# HTA pulls in a notebook server; it is only wanted to check our numbers against, so only the tests install it.
TEST_EXTRAS := gdb,hta,nvml,sqlite
LOWEST_EXTRAS := gdb,nvml,sqlite
# The CPU build is a tenth of what the index of packages gives on Linux; where this one is out of reach, that will do.
TORCH := torch==2.13.0
TORCH_INDEX ?= https://download.pytorch.org/whl/cpu
INSTALL_TORCH = -m pip install --quiet --retries 1 --timeout 15 --index-url $(TORCH_INDEX) $(TORCH)

.PHONY: demo test test-lowest sanitized fuzz check docs study thesis clean

demo: $(VENV)/installed
	$(BIN)/tracelens demo

test: $(VENV)/installed-for-tests check
	$(BIN)/python -m pytest -n 2 --dist loadfile

# The same tests with the lowest versions that pyproject.toml allows; without those that depend on none of them, which
# are about processes and pages, and take long, and without the tests that look for counterexamples. What one test reads
# by both paths again is read by the fast one in this run too, and held against what is written beside it. Torch traces are
# read as they are where nothing was compiled: these tests look for counterexamples, as in no other run they are so read.
ANY_VERSION := apart bench_enlarge bench_results gdb_command gdb_ends gdb_limits gpu hta html_page interrupted \
  nsys_live program structure study_page study_workloads thesis_page
WITHOUT_LIBRARY := $(wildcard tests/test_torch_[!f]*.py) tests/test_nesting.py
READ_TWICE := tests/test_torch_fast.py::test_the_traces_that_other_tests_write
test-lowest: $(VENV)-lowest/installed
	$(VENV)-lowest/bin/python -m pytest -m 'not hypothesis' -n 2 --dist loadfile $(ANY_VERSION:%=--ignore tests/test_%.py) \
	  --deselect $(READ_TWICE) $(WITHOUT_LIBRARY:%=--ignore %)
	TRACELENS_NATIVE=off TRACELENS_EXAMPLES=10 $(VENV)-lowest/bin/python -m pytest -q -n 2 --dist loadfile $(WITHOUT_LIBRARY)

# The tests of what the native library does, and a fuzzer of what it reads, with every access and every sum checked.
NATIVE_TESTS := tests/test_torch_fast.py tests/test_torch_damage.py tests/test_torch_cuts.py tests/test_torch_formats.py \
  tests/test_torch_times.py tests/test_nesting_fast.py tests/test_ancestry_fast.py tests/test_op_times_fast.py
CHECKS := address,undefined
FUZZ_INPUTS ?= 300000
sanitized: $(VENV)/installed-for-tests
	rm -rf build/sanitized
	TRACELENS_SANITIZE=$(CHECKS) $(BIN)/python setup.py --quiet build_ext --build-lib build/sanitized --build-temp build/objects
	ASAN_OPTIONS=detect_leaks=0 LD_PRELOAD="$$(cc -print-file-name=libasan.so)" TRACELENS_EXAMPLES=20 \
	  $(BIN)/python -m pytest -q -p tests.sanitized -n 2 --dist loadfile -k 'not by_both and not other_tests and not linear' $(NATIVE_TESTS)
	$(BIN)/python -m tests.fuzz $(FUZZ_INPUTS)
	$(BIN)/python -m tests.fuzz.traces 100

# Minutes; what was run so far is written down in docs/decisions.md.
fuzz: $(VENV)/installed-for-tests
	$(BIN)/python -m tests.fuzz 10000000
	$(BIN)/python -m tests.fuzz.traces 3000

check: $(VENV)/installed-for-tests
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy

docs: $(VENV)/installed
	$(BIN)/python docs/generate.py

# The abstraction study's page from its captures; samples/study/run.py takes those on a machine with a GPU.
study: $(VENV)/installed
	$(BIN)/python samples/study/analyse.py

# The thesis's page from its captures; samples/thesis/run.py takes those on a machine with a GPU.
thesis: $(VENV)/installed
	$(BIN)/python samples/thesis/analyse.py

# Takes half an hour and 3 GB of disk; BENCH=--quick tries it out, BENCH=--large adds a trace of 2 GB.
bench: $(VENV)/installed-for-bench
	$(BIN)/python -m tests.bench $(BENCH)

# An environment of its own; 25.1 is the first pip that knows of groups.
$(VENV)/made $(VENV)-lowest/made:
	$(PYTHON) -m venv $(@D)
	$(@D)/bin/python -m pip install --quiet --upgrade 'pip>=25.1'
	touch $@

NATIVE := setup.py $(wildcard tracelens/native/*.[ch])
$(VENV)/installed: pyproject.toml $(NATIVE) $(VENV)/made
	$(BIN)/python -m pip install --quiet --editable .
	touch $@

$(VENV)/torch: $(VENV)/made
	$(BIN)/python $(INSTALL_TORCH) || $(BIN)/python -m pip install --quiet $(TORCH)
	touch $@

$(VENV)/installed-for-tests: pyproject.toml $(NATIVE) $(VENV)/torch
	$(BIN)/python -m pip install --quiet --editable '.[$(TEST_EXTRAS)]' --group dev
	touch $(VENV)/installed $@

$(VENV)-lowest/installed: pyproject.toml tests/lowest.txt $(VENV)-lowest/made
	$(VENV)-lowest/bin/python -m pip install --quiet --constraint tests/lowest.txt --editable '.[$(LOWEST_EXTRAS)]' --group test
	touch $@

$(VENV)/installed-for-bench: $(VENV)/installed
	$(BIN)/python -m pip install --quiet --editable '.[gdb,hta,nvml,sqlite]' orjson
	-$(BIN)/python -m pip install --quiet ijson
	-$(BIN)/python $(INSTALL_TORCH) || $(BIN)/python -m pip install --quiet $(TORCH)
	touch $@

clean:
	rm -rf $(VENV) $(VENV)-lowest build dist *.egg-info tracelens/native/*.so
