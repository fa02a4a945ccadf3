#!/usr/bin/env bash
# Builds a wheel into dist/ (or $1) for each Python that is named (default: the one of .venv). A Python without the
# build's requirements gets an environment under build/, so that header paths stay and ccache finds what was compiled.
set -euo pipefail
cd "$(dirname "$0")/.."
dist=${1:-dist}
shift || true
[ $# -gt 0 ] || set -- .venv/bin/python
export CCACHE_BASEDIR="$PWD" CCACHE_NOHASHDIR=1 CXX=c++ CMAKE_BUILD_PARALLEL_LEVEL="${FERRULE_BUILD_JOBS:-2}"
for python in "$@"; do
  if ! "$python" -c 'import nanobind, numpy, scikit_build_core, cmake, ninja' 2>/dev/null; then
    env=$PWD/build/wheel-env-$("$python" -c 'import sys; print("%d.%d" % sys.version_info[:2])')
    if [ ! -f "$env/.done" ]; then
      "$python" -m venv "$env"
      "$env/bin/python" -m pip install -q --disable-pip-version-check 'pip>=25.1' 'scikit-build-core>=0.11' 'nanobind==3.1.0' \
        'numpy>=2.0' 'cmake>=3.27' 'ninja>=1.11'
      touch "$env/.done"
    fi
    python=$env/bin/python
  fi
  PATH="$(dirname "$python"):$PATH" "$python" -m pip wheel -q --disable-pip-version-check --no-deps --no-build-isolation \
    -C cmake.define.FERRULE_WERROR=ON -w "$dist" .
done
