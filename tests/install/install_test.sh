#!/bin/bash
# install_test.sh BUILD-FOLDER COMPILER: installs, builds the user's program outside of the tree and runs it as two ranks with the installed attune-run.
set -euo pipefail
build=$1 compiler=$2
source=$(cd "$(dirname "$0")/user" && pwd)
work=$(mktemp -d "${TMPDIR:-/tmp}/attune-install-XXXXXX")
trap 'rm -rf "$work"' EXIT

fail() {
    echo "$*" >&2
    exit 1
}

cmake --install "$build" --prefix "$work/prefix" >"$work/log" || fail "$(cat "$work/log")"
for tool in attune attune-run attune-bench attune-tune attune-lookup attune-db attune-verify; do
    [[ -x $work/prefix/bin/$tool ]] || fail "bin/$tool is not installed"
done
cp -r "$source" "$work/user"
cmake -S "$work/user" -B "$work/user/build" -DCMAKE_PREFIX_PATH="$work/prefix" -DCMAKE_CXX_COMPILER="$compiler" >"$work/log" || fail "$(cat "$work/log")"
cmake --build "$work/user/build" >"$work/log" 2>&1 || fail "$(cat "$work/log")"
"$work/prefix/bin/attune-run" -n 2 -- "$work/user/build/program" | sort >"$work/out"
printf 'rank 0 of 2: 3\nrank 1 of 2: 3\n' | diff - "$work/out"

# A version this release is not compatible with is refused.
sed -i 's/find_package(attune [0-9.]*/find_package(attune 99.0/' "$work/user/CMakeLists.txt"
if cmake -S "$work/user" -B "$work/user/other" -DCMAKE_PREFIX_PATH="$work/prefix" -DCMAKE_CXX_COMPILER="$compiler" >/dev/null 2>&1; then
    fail "find_package(attune 99.0) was accepted"
fi
