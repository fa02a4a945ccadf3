#!/usr/bin/env bash
# Debian packages that are missing, then the virtual environment with the test dependencies. Does nothing when all is there.
set -euo pipefail
cd "$(dirname "$0")/.."

packages=(g++ libfmt-dev nlohmann-json3-dev libmd-dev libcli11-dev libgtest-dev ccache)
missing=()
for package in "${packages[@]}"; do
  dpkg-query -W -f='${Status}' "$package" 2>/dev/null | grep -q 'ok installed' || missing+=("$package")
done
if [ ${#missing[@]} -gt 0 ]; then
  echo "setup: installing ${missing[*]}"
  export DEBIAN_FRONTEND=noninteractive
  apt-get update -qq
  apt-get install -y -qq --no-install-recommends "${missing[@]}" >/dev/null
fi

stamp=.venv/.ferrule-stamp
if [ ! -f "$stamp" ] || ! cmp -s pyproject.toml "$stamp"; then
  echo "setup: making .venv"
  [ -x .venv/bin/python ] || python3 -m venv .venv
  .venv/bin/python -m pip install -q --disable-pip-version-check --upgrade 'pip>=25.1'
  .venv/bin/python -m pip install -q --disable-pip-version-check --group dev
  # The package is used in place: the build puts the native modules beside the Python files.
  .venv/bin/python - <<'PY'
import pathlib, sysconfig
site = pathlib.Path(sysconfig.get_paths()["purelib"])
(site / "ferrule-in-place.pth").write_text(str(pathlib.Path("python").resolve()) + "\n")
PY
  cp pyproject.toml "$stamp"
fi
