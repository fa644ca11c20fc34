# What the scripts share. Sourced, with `set -euo pipefail` already on; leaves the shell in the repository's root.

cd "$(dirname "${BASH_SOURCE[0]}")/.."
started_at=$SECONDS

die() {
    printf '%s: %s\n' "$(basename "$0")" "$1" >&2
    exit "${2:-1}"
}

# A heading with the time since the script started.
say() {
    printf '\n== %s (after %d s)\n' "$*" $((SECONDS - started_at))
}

# Started through sudo, only apt runs as root: the rest starts again as the user who asked, so that nothing of theirs ends up owned by root.
become_invoking_user() {
    if [[ $(id -u) -ne 0 || -z ${SUDO_USER:-} || ${SUDO_USER:-} == root ]]; then
        return
    fi
    local home
    home=$(getent passwd "$SUDO_USER" | cut -d: -f6)
    exec runuser -u "$SUDO_USER" -- env -u SUDO_USER HOME="$home" USER="$SUDO_USER" LOGNAME="$SUDO_USER" "$0" "$@"
}

# Parallel compilations: one for each allowed core, but no more than memory allows at 1 GiB each.
jobs() {
    local cores memory
    cores=$(nproc)
    memory=$(awk '/^MemAvailable/ { print int($2 / 1048576) }' /proc/meminfo)
    ((memory >= 1)) || memory=1
    echo $((cores < memory ? cores : memory))
}

# configure PRESET [CMAKE ARGUMENTS...]; uses ccache when it is there.
configure() {
    local preset=$1 launcher=
    shift
    if command -v ccache >/dev/null; then
        launcher=ccache
        export CCACHE_BASEDIR=$PWD CCACHE_NOHASHDIR=1
    fi
    cmake --preset "$preset" -DCMAKE_CXX_COMPILER_LAUNCHER=$launcher "$@" >"/dev/null" || die "the configuration of '$preset' failed; see the messages above"
}

# build PRESET [TARGETS...]
build() {
    local preset=$1 target targets=()
    shift
    for target in "$@"; do
        targets+=(--target "$target")
    done
    cmake --build --preset "$preset" -j "$(jobs)" "${targets[@]}"
}
