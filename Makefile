# One-line targets; the work is in tools/. Every target sets up what it needs and is quick when nothing changed.
PY := .venv/bin/python
PRESET ?= release

.PHONY: help setup build demo test check unit pytest wheel bench fuzz tidy sanitize format clean

help:            ## this list
	@grep -hE '^[a-z]+:.*##' $(MAKEFILE_LIST) | sed -E 's/:.*## /\t/' | expand -t 12

setup:           ## missing Debian packages and the virtual environment
	@tools/setup.sh

build: setup     ## the libraries, the tools and the Python modules, in build/release
	@tools/build.sh $(PRESET)

demo: build      ## three programs on a real elevation model, checked against NumPy
	@$(PY) examples/demo.py

test: build      ## everything that CI runs, in shards
	@$(PY) tools/run_tests.py

check: build     ## format, lint, types, layers
	@$(PY) tools/run_tests.py --only check

unit: build      ## the C++ unit tests
	@$(PY) tools/run_tests.py --only unit

pytest: build    ## the Python tests
	@$(PY) tools/run_tests.py --only python --only errors --only process --only golden --only docs --only leaks

wheel: build     ## a wheel for the Python of .venv, in dist/
	@tools/wheel.sh

bench: build     ## the benchmarks, with whatever peers are installed
	@$(PY) bench/run_all.py

fuzz: build      ## the long random tests
	@$(PY) tools/run_tests.py --only fuzz

tidy: build      ## clang-tidy over src/ (Debian package clang-tidy)
	@$(PY) tools/run_tests.py --only tidy

sanitize: setup  ## unit and call tests under AddressSanitizer and UndefinedBehaviorSanitizer
	@tools/sanitize.sh

format: setup    ## rewrites the sources in the project's format
	@$(PY) -m ruff format python tests tools bench examples && $(PY) -m ruff check --fix -q python tests tools bench examples
	@git ls-files '*.cpp' '*.h' '*.c' | xargs .venv/bin/clang-format -i

clean:           ## removes build output, keeps the virtual environment
	@rm -rf build demo-out python/ferrule/*.so
