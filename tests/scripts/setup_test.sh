#!/bin/bash
# Runs scripts/setup among fake commands and looks at what it would have installed, and as whom: setup_test.sh ROOT.
set -euo pipefail
root=$1
fake=$(mktemp -d "${TMPDIR:-/tmp}/attune-setup-XXXXXX")
trap 'rm -rf "$fake"' EXIT
failed=0

# Only these commands exist, plus the fakes.
for command in bash env awk head tail dirname basename cut cat grep; do
    ln -s "$(command -v "$command")" "$fake/$command"
done
put() {
    printf '#!/bin/bash\n%s\n' "$2" >"$fake/$1"
    chmod +x "$fake/$1"
}

# world UID MISSING-PACKAGE KNOWN-LISTS(yes|no) SUDO(yes|no)
world() {
    : >"$fake/log"
    rm -f "$fake/updated" "$fake/sudo"
    put id "echo $1"
    put dpkg-query "[[ \${!#} == '$2' ]] || echo installed"
    put apt-cache "[[ $3 == yes || -e $fake/updated ]]"
    put apt-get "echo apt-get \$1 \${!#} >>$fake/log; [[ \$1 == update ]] && : >$fake/updated; true"
    if [[ $4 == yes ]]; then
        put sudo "echo sudo >>$fake/log; exec \"\$@\""
    fi
}

# expect WHAT CODE LOG
expect() {
    local code=0
    PATH=$fake "$fake/bash" "$root/scripts/setup" build >"$fake/out" 2>&1 || code=$?
    local log
    log=$(tr '\n' ';' <"$fake/log")
    if [[ $code != "$2" || $log != "$3" ]]; then
        echo "$1: code $code, '$log' instead of $2, '$3'"
        cat "$fake/out"
        failed=1
    fi
}

world 1000 none yes yes
expect "nothing is missing" 0 ''
world 0 libfmt-dev yes no
expect "root" 0 'apt-get install libfmt-dev;'
world 1000 libfmt-dev yes yes
expect "sudo" 0 'sudo;apt-get install libfmt-dev;'
world 0 libfmt-dev no no
expect "no package lists yet" 0 'apt-get update -q;apt-get install libfmt-dev;'
world 1000 libfmt-dev yes no
expect "neither root nor sudo" 1 ''
grep -q 'neither root nor sudo' "$fake/out" || { echo "the reason is not named"; failed=1; }

# Old lists name files that are gone: the first installation fails, the one after an update does not.
world 0 libfmt-dev yes no
put apt-get "echo apt-get \$1 >>$fake/log; [[ \$1 == update ]] && : >$fake/updated; [[ -e $fake/updated ]]"
expect "old package lists" 0 'apt-get install;apt-get update;apt-get install;'

# become_invoking_user: as root through sudo everything after apt starts again as the user, with their home.
put id 'echo 0'
put getent 'echo "ada:x:1000:1000::/home/ada:/bin/bash"'
put runuser "echo \"\$*\" >$fake/log"
cat >"$fake/script" <<SCRIPT
#!/bin/bash
set -euo pipefail
source "$root/scripts/lib.sh"
become_invoking_user "\$@"
echo "still root"
SCRIPT
SUDO_USER=ada PATH=$fake "$fake/bash" "$fake/script" --all >"$fake/out"
grep -q -- '-u ada -- env -u SUDO_USER HOME=/home/ada USER=ada LOGNAME=ada .*script --all$' "$fake/log" || { echo "not restarted as the user: $(cat "$fake/log")"; failed=1; }
[[ ! -s $fake/out ]] || { echo "went on as root"; failed=1; }
env -u SUDO_USER PATH="$fake" "$fake/bash" "$fake/script" >"$fake/out"
grep -q 'still root' "$fake/out" || { echo "root itself does not go on"; failed=1; }
exit $failed
