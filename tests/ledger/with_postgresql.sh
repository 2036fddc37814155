#!/usr/bin/env bash
# with_postgresql.sh COMMAND...: runs it with PBOOST_TEST_STORE set to a PostgreSQL server of its own,
# which ends with it.  Exit code 77 (skipped) where PostgreSQL is not installed.
set -euo pipefail
bin=$(find /usr/lib/postgresql -maxdepth 2 -name bin 2>/dev/null | sort -V | tail -n 1)
if [ -z "$bin" ] || [ ! -x "$bin/initdb" ]; then
    echo "PostgreSQL is not installed: skipped" >&2
    exit 77
fi
root=$(mktemp -d /tmp/pboost-postgresql-XXXXXX)
as=()
if [ "$(id -u)" -eq 0 ]; then # the server refuses to run as root
    as=(runuser -u postgres --)
    chown postgres "$root"
fi
chmod 755 "$root"
cd "$root"
server=
finish() {
    if [ -n "$server" ]; then
        "${as[@]}" "$bin/pg_ctl" -D "$root/data" -m immediate -w stop >/dev/null 2>&1 || true
    fi
    rm -rf "$root"
}
trap finish EXIT
trap 'exit 130' INT TERM
"${as[@]}" "$bin/initdb" -D "$root/data" -U test -A trust -E UTF8 --locale=C >/dev/null
server=yes
"${as[@]}" "$bin/pg_ctl" -D "$root/data" -l "$root/log" -w -t 60 start \
    -o "-c listen_addresses='' -c unix_socket_directories='$root' -c max_connections=200" >/dev/null ||
    { cat "$root/log" >&2; exit 1; }
export PBOOST_TEST_STORE="postgresql:///postgres?host=$root&user=test"
status=0
"$@" || status=$?
exit $status
