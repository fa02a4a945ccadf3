#!/usr/bin/env bash
# Configures and builds one CMake preset, then links the native modules beside the Python package.
set -euo pipefail
cd "$(dirname "$0")/.."
preset=${1:-release}
export PATH="$PWD/.venv/bin:$PATH"
# Paths below the tree do not count for ccache: a copy of the tree, such as tests/packaging makes, finds what is built.
export CCACHE_BASEDIR="$PWD" CCACHE_NOHASHDIR=1
build=build/$preset
if [ ! -f "$build/build.ninja" ]; then
  cmake --preset "$preset" >"/tmp/ferrule-configure-$$.log" || { cat "/tmp/ferrule-configure-$$.log"; exit 1; }
  rm -f "/tmp/ferrule-configure-$$.log"
fi
log=$(mktemp)
cmake --build "$build" -j "${FERRULE_BUILD_JOBS:-2}" >"$log" 2>&1 || { cat "$log"; rm -f "$log"; exit 1; }
rm -f "$log"
if [ "$preset" = release ]; then
  for module in "$build"/python/bindings/_*.so; do
    ln -sf "$PWD/$module" "python/ferrule/$(basename "$module")"
  done
  # An installed package has its byte code; without it an import compiles 50 files where Python may not write.
  .venv/bin/python -m compileall -q python/ferrule
fi
