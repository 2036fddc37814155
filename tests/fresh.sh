#!/usr/bin/env bash
# ./dev fresh: what a newcomer does, on what a newcomer has.  Makes a bare Debian root of this machine's
# release, clones HEAD into it and runs the two commands of README.md there, word for word.
#
#   --all        every ./dev command instead, in its short form
#   --no-pypi    with PyPI out of reach
#   --keep DIR   make the root in DIR and leave it there; use the one that is already there
#
# The machine's mirrors, proxies, certificates and pip settings hold in the root as well.  Every command
# has its own mount and process namespace: its mounts and whatever it leaves running end with it.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."

all='' pypi=yes keep=''
while [ $# -gt 0 ]; do
    case $1 in
    --all) all=yes ;;
    --no-pypi) pypi='' ;;
    --keep)
        [ -n "${2:-}" ] || { echo "fresh: --keep needs a folder" >&2; exit 2; }
        keep=$2 && shift
        ;;
    *) echo "fresh: option '$1' is unknown; there are --all, --no-pypi and --keep DIR" >&2 && exit 2 ;;
    esac
    shift
done
nowhere=http://127.0.0.1:9/simple # the port of the discard service, where nothing listens

root=$keep running=
finish() {
    if [ -n "$running" ]; then
        kill -KILL "$running" 2>/dev/null || true # its namespace, and all that runs in it, ends with it
        wait "$running" 2>/dev/null || true
    fi
    [ -n "$keep" ] || rm -rf --one-file-system "$root"
}

fall_back() {
    echo "== NOT TESTED IN A BARE ROOT: $1. RUNNING ./dev test ON THIS MACHINE INSTEAD" >&2
    [ -n "$pypi" ] || export PIP_INDEX_URL=$nowhere
    finish
    exec ./dev test
}

[ "$(id -u)" -eq 0 ] || fall_back "THIS NEEDS root"
command -v mmdebstrap >/dev/null || fall_back "mmdebstrap IS NOT INSTALLED"
unshare --mount --pid --fork mount -t tmpfs none /mnt 2>/dev/null || fall_back "MOUNTING IS NOT ALLOWED HERE"

[ -n "$keep" ] || root=$(mktemp -d "${TMPDIR:-/var/tmp}/priorboost-fresh.XXXXXX")
trap finish EXIT
trap 'exit 130' INT
trap 'exit 143' TERM HUP

# ---- The root ------------------------------------------------------------------------------------

# Names of the variables by which programs find their way out of this machine.
network_variables() {
    compgen -e | grep -iE '^(https?|ftp|all|no)_proxy$|^(SSL_CERT_FILE|SSL_CERT_DIR|REQUESTS_CA_BUNDLE|CURL_CA_BUNDLE)$' || true
    [ -z "$pypi" ] || compgen -e | grep '^PIP_' || true
}

carry() { # copies files and folders, where they exist, to the same place in the root
    local path
    for path in "$@"; do
        [[ $path = /* && -e $path ]] || continue
        mkdir -p "$root$(dirname "$path")"
        cp -rL "$path" "$root$(dirname "$path")" 2>/dev/null || true # a link may lead nowhere
    done
}

make_root() {
    local release mirrors name options
    release=$(. /etc/os-release && echo "$VERSION_CODENAME")
    apt-get update -qq || true
    # The machine's mirrors of the release, or else Debian's own; a newcomer has no other sources.
    mirrors=$(apt-get indextargets --format 'deb $(REPO_URI) $(RELEASE) $(COMPONENT)' 'Created-By: Packages' |
        sort -u | grep " $release") || true
    mapfile -t options < <(apt-config dump | grep -E '^Acquire::(https?|ftp|Check-Valid-Until|Check-Date|Retries|ForceIPv[46])\b')
    mmdebstrap --variant=apt --quiet "${options[@]/#/--aptopt=}" --setup-hook='cp -a /etc/apt/auth.conf* "$1/etc/apt/" || true' \
        "$release" "$root" ${mirrors:+-} <<<"$mirrors" || return 1
    chmod 755 "$root" # mktemp lets root alone in
    carry /etc/hosts /etc/resolv.conf /usr/local/share/ca-certificates /etc/ssl/certs/ca-certificates.crt
    [ -z "$pypi" ] || carry /etc/pip.conf /etc/xdg/pip ~/.pip ~/.config/pip
    for name in $(network_variables); do carry "${!name}"; done
}

# in_root COMMAND: runs it in the clone, as root, in an environment as empty as a new machine's.
in_root() {
    local settings=() name
    for name in $(network_variables); do settings+=("$name=${!name}"); done
    [ -n "$pypi" ] || settings+=("PIP_INDEX_URL=$nowhere")
    # A command in the background is started with SIGINT ignored; tests send it to themselves.
    ROOT=$root COMMAND=$1 unshare --mount --pid --fork --kill-child bash -euc '
        mount -t proc proc "$ROOT/proc"
        mount -t sysfs -o ro sysfs "$ROOT/sys"
        mount -t devpts -o newinstance,ptmxmode=0666 devpts "$ROOT/dev/pts"
        mount -t tmpfs -o mode=1777,size=64m tmpfs "$ROOT/dev/shm" # as small as in a container
        exec chroot "$ROOT" /usr/bin/env -i --default-signal=INT,QUIT HOME=/root TERM=dumb \
            PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin "$@" \
            bash -c "cd /root/priorboost; $COMMAND
exit"' bash "${settings[@]}" </dev/null &
    running=$!
    wait "$running" || { local code=$?; running=; return $code; }
    running=
}

if [ ! -e "$root/etc/debian_version" ]; then
    echo "== making a bare root in $root" >&2
    make_root || fall_back "mmdebstrap FAILED"
fi
[ -z "$(git status --porcelain)" ] || echo "== what is not committed is not tested" >&2
rm -rf "$root/root/priorboost"
git clone --quiet --no-hardlinks . "$root/root/priorboost"

# ---- The commands --------------------------------------------------------------------------------

if [ -n "$all" ]; then # those with few needs first: what a later one installs does not help them
    commands=('./dev help' './dev build' './dev figures' './dev fuzz 5' './dev format' './dev package' './dev docs'
        './dev arm' './dev musl' ${pypi:+'./dev wheel'} # whose tools come from PyPI
        ${pypi:+'./dev bench --quick'} # its peers come from PyPI
        './dev torture 100 10' './dev coverage' './dev lint' './dev run' './dev test' './dev clean')
else
    mapfile -t commands < <(sed -n '/^## Two commands/,/^## /{/^\.\/dev /p}' README.md)
    [ ${#commands[@]} -eq 2 ] || { echo "fresh: README.md should have two commands, not ${#commands[@]}" >&2; exit 1; }
fi
try_all() {
    local failed=() command
    for command in "$@"; do
        echo "== in a bare root: $command" >&2
        in_root "$command" || failed+=("${command%%  *} (exit code $?)")
    done
    [ ${#failed[@]} -eq 0 ] || { printf '== FAILED IN A BARE ROOT: %s\n' "${failed[@]}" >&2; return 1; }
}
try_all "${commands[@]}"; exit # on one line: bash does not read on in a file that may have changed
