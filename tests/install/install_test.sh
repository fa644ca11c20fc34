#!/bin/bash
# install_test.sh BUILD-FOLDER COMPILER C-COMPILER: installs, builds a user's programs in C++ and in C outside of the tree and runs each as two ranks with
# the installed attune-run. The project in C enables no other language.
set -euo pipefail
build=$1 compiler=$2 c_compiler=$3
here=$(cd "$(dirname "$0")" && pwd)
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

# build_and_run FOLDER COMPILER-SETTING
build_and_run() {
    cp -r "$here/$1" "$work/$1"
    cmake -G Ninja -S "$work/$1" -B "$work/$1/build" -DCMAKE_PREFIX_PATH="$work/prefix" "$2" >"$work/log" || fail "$(cat "$work/log")"
    cmake --build "$work/$1/build" >"$work/log" 2>&1 || fail "$(cat "$work/log")"
    "$work/prefix/bin/attune-run" -n 2 -- "$work/$1/build/program" | sort >"$work/out"
    printf 'rank 0 of 2: 3\nrank 1 of 2: 3\n' | diff - "$work/out"
}
build_and_run user -DCMAKE_CXX_COMPILER="$compiler"
build_and_run user_c -DCMAKE_C_COMPILER="$c_compiler"

# A version this release is not compatible with is refused.
sed -i 's/find_package(attune [0-9.]*/find_package(attune 99.0/' "$work/user/CMakeLists.txt"
if cmake -G Ninja -S "$work/user" -B "$work/user/other" -DCMAKE_PREFIX_PATH="$work/prefix" -DCMAKE_CXX_COMPILER="$compiler" >/dev/null 2>&1; then
    fail "find_package(attune 99.0) was accepted"
fi
