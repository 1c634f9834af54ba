#!/usr/bin/env bash
# Installs what building and testing need, by name from Debian; does nothing where all is there. usage: install.sh [build|test]
set -euo pipefail

build=(g++ cmake ninja-build ccache pkg-config git ca-certificates libcli11-dev libfmt-dev libspdlog-dev nlohmann-json3-dev
       libpcre2-dev libutf8proc-dev libeigen3-dev libssl-dev python3)
test=(libgtest-dev clang-14 clang-format-14 libclang-rt-14-dev llvm-14 python3-numpy)

wanted=("${build[@]}")
[ "${1:-build}" = test ] && wanted+=("${test[@]}")
missing=()
for package in "${wanted[@]}"; do
  dpkg-query -W -f='${Status}' "$package" 2>/dev/null | grep -q 'ok installed' || missing+=("$package")
done
[ ${#missing[@]} -eq 0 ] && exit 0

command -v apt-get >/dev/null || { echo "needs these Debian packages: ${missing[*]}" >&2; exit 1; }
as_root=()
if [ "$(id -u)" -ne 0 ]; then
  command -v sudo >/dev/null || { echo "needs root or sudo to install: ${missing[*]}" >&2; exit 1; }
  as_root=(sudo)
fi
echo "installing: ${missing[*]}" >&2
"${as_root[@]}" apt-get update -qq >&2
DEBIAN_FRONTEND=noninteractive "${as_root[@]}" apt-get install -y -qq --no-install-recommends "${missing[@]}" >&2
