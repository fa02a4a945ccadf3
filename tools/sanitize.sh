#!/usr/bin/env bash
# The unit tests and the tests of calls and interchange under AddressSanitizer and UndefinedBehaviorSanitizer. Threads that
# the interpreter's end takes down unwind in a way that AddressSanitizer takes for a fault.
set -euo pipefail
cd "$(dirname "$0")/.."
tools/build.sh asan-ubsan
export ASAN_OPTIONS=detect_leaks=0:abort_on_error=0:allocator_may_return_null=1 UBSAN_OPTIONS=print_stacktrace=1
.venv/bin/ctest --test-dir build/asan-ubsan --output-on-failure
modules=$(mktemp -d)
trap 'rm -rf "$modules"' EXIT
cp -r python/ferrule "$modules/ferrule"
rm -f "$modules"/ferrule/_*.so
cp build/asan-ubsan/python/bindings/_*.so "$modules/ferrule/"
cp -r include "$modules/ferrule/include"
sanitized() {
  LD_PRELOAD="$(g++ -print-file-name=libasan.so) $(g++ -print-file-name=libubsan.so)" PYTHONPATH="$modules" PYTHONMALLOC=malloc \
    .venv/bin/python -m pytest -q -p no:cacheprovider "$@"
}
sanitized tests/refusals
sanitized tests/python tests/errors \
  -k '(call or dlpack or array or foreign or source_kernels or handle_state or argument or results or lifetimes or symbol or scalar or program_errors) and not random and not interpreter_exit' "$@"
