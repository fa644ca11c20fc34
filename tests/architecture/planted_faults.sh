#!/bin/bash
# Plants one fault at a time into a small tree and expects the checks of scripts/lint to name it: planted_faults.sh ROOT.
set -euo pipefail
root=$1
tree=$(mktemp -d "${TMPDIR:-/tmp}/attune-planted-XXXXXX")
trap 'rm -rf "$tree"' EXIT
failed=0

# expect_include FILE INCLUDE-LINE accepted|refused
expect_include() {
    rm -rf "${tree:?}"/*
    mkdir -p "$tree/$(dirname "$1")"
    printf '// A file.\n#include %s\n' "$2" >"$tree/$1"
    local got=accepted
    "$root/scripts/check-architecture" "$tree" >"$tree/report" || got=refused
    if [[ $got != "$3" ]] || { [[ $3 == refused ]] && ! grep -q "^$1:2:" "$tree/report"; }; then
        echo "$1 with '#include $2' was $got instead of $3"
        failed=1
    fi
}

expect_include libcore/a.cpp '"libcore/b.hpp"' accepted
expect_include libcore/a.cpp '"collectives/b.hpp"' refused
expect_include libcore/a.cpp '"b.hpp"' refused
expect_include collectives/deep/a.cpp '"libcore/b.hpp"' accepted
expect_include collectives/deep/a.cpp '"db/b.hpp"' refused
expect_include collectives/deep/a.cpp '"../b.hpp"' refused
expect_include profiler/a.hpp '"collectives/b.hpp"' refused
expect_include db/a.cpp '"collectives/b.hpp"' refused
expect_include db/a.cpp '"profiler/b.hpp"' refused
expect_include fusion/a.cpp '"collectives/b.hpp"' accepted
expect_include fusion/a.cpp '"tuner/b.hpp"' refused
expect_include tuner/a.cpp '"db/b.hpp"' accepted
expect_include tuner/a.cpp '"apps/tools/support/b.hpp"' refused
expect_include apps/tools/a.cpp '"tuner/b.hpp"' accepted
expect_include apps/tools/a.cpp '"tests/support/b.hpp"' refused
expect_include db/a.cpp '<sqlite3.h>' accepted
expect_include tuner/a.cpp '<sqlite3.h>' refused
expect_include apps/tools/a.cpp '  <sqlite3.h>' refused
expect_include libcore/crypto.cpp '<openssl/evp.h>' accepted
expect_include libcore/file.cpp '<openssl/evp.h>' refused
expect_include libcore/topology.cpp '<hwloc.h>' accepted
expect_include profiler/a.cpp '<hwloc.h>' refused
expect_include apps/tools/a.cpp '<CLI/CLI.hpp>' accepted
expect_include tuner/a.cpp '<CLI/CLI.hpp>' refused
expect_include db/a.cpp '<nlohmann/json.hpp>' refused
expect_include collectives/transport/shm/a.cpp '<boost/asio.hpp>' refused
expect_include collectives/a.cpp '<mpi.h>' refused
expect_include apps/runtime/include/attune/attune.hpp '<vector>' accepted
expect_include apps/runtime/include/attune/attune.hpp '<attune/calls.hpp>' accepted
expect_include apps/runtime/include/attune/attune.hpp '<fmt/format.h>' refused
expect_include apps/runtime/include/attune/attune.h '<stdint.h>' accepted
expect_include apps/runtime/include/attune/attune.h '<sqlite3.h>' refused
expect_include examples/a.cpp '<attune/attune.hpp>' accepted
expect_include examples/a.cpp '"collectives/communicator.hpp"' refused
expect_include examples/b.c '"collectives/communicator.hpp"' refused

# expect_line FILE LINE accepted|refused
expect_line() {
    rm -rf "${tree:?}"/*
    mkdir -p "$tree/$(dirname "$1")"
    printf '%s\n' "$2" >"$tree/$1"
    local got=accepted
    "$root/scripts/check-architecture" "$tree" >/dev/null || got=refused
    [[ $got == "$3" ]] || { echo "$1 with '$2' was $got instead of $3"; failed=1; }
}
expect_line libcore/environment.cpp 'auto home = secure_getenv("HOME");' accepted
expect_line db/a.cpp 'auto home = std::getenv("HOME");' refused
expect_line apps/tools/a.cpp 'auto home = secure_getenv ("HOME");' refused
expect_line db/a.cpp '// unlike getenv("HOME")' accepted

# expect_size accepted|refused WHAT, source on standard input
expect_size() {
    cat >"$tree/size.cpp"
    local got=accepted
    "$root/scripts/check-sizes" "$tree/size.cpp" >/dev/null || got=refused
    [[ $got == "$1" ]] || { echo "$2 was $got instead of $1"; failed=1; }
}
lines() { for ((i = 0; i < $1; ++i)); do echo "${2:-    call();}"; done; }

rm -rf "${tree:?}"/*
{ echo 'int f() {'; lines 58; echo '}'; } | expect_size accepted "a function of 60 lines"
{ echo 'int f() {'; lines 59; echo '}'; } | expect_size refused "a function of 61 lines"
{ echo 'namespace a {'; lines 100 'int g();'; echo '}'; } | expect_size accepted "a long namespace"
{ echo 'class A final : public B<int(int)> {'; echo 'int f() const {'; lines 59; echo '}'; echo '};'; } | expect_size refused "a long member function"
{ echo 'class A {'; lines 70 '    int f() { return 1; }'; echo '};'; } | expect_size accepted "a long class of short functions"
{ echo 'A::A(int a)'; echo '    : a_{a}, b_(2) {'; lines 59; echo '}'; } | expect_size refused "a long constructor"
{ echo 'void f(const std::vector<int>& a,'; echo '       int b) {'; lines 58 '    if (a) { b(); }'; echo '}'; } | expect_size refused "a long function with a long head"
{ echo 'const char* a = R"x('; lines 70 '} { ( "'; echo ')x";'; } | expect_size accepted "a long raw string"
{ echo 'int f() { return '"'{'"'; }'; lines 70 'int g();'; } | expect_size accepted "a brace in a character"
{ echo '/* int f() {'; lines 70 ''; echo '} */'; } | expect_size accepted "a function in a comment"
{ echo 'constexpr int table[] = {'; lines 70 '    1,'; echo '};'; } | expect_size accepted "a long table"
{ echo 'TEST(A, B) {'; lines 30; echo '    for (;;) {'; lines 30; echo '    }'; echo '}'; } | expect_size refused "a long test"
lines 400 '//' | expect_size accepted "a file of 400 lines"
lines 401 '//' | expect_size refused "a file of 401 lines"
printf '// %0157d\n' 0 | expect_size accepted "a line of 160 columns"
printf '// %0158d\n' 0 | expect_size refused "a line of 161 columns"
printf '// µµ%0155d\n' 0 | expect_size accepted "a line of 160 characters in 162 bytes"
exit $failed
