#!/usr/bin/env bash
# with_postgresql.sh COMMAND...: runs it with PBOOST_TEST_STORE set to a PostgreSQL server of its own,
# which ends with it.  Exit code 77 (skipped) where PostgreSQL is not installed.
#
# $PBOOST_TEST_SERVER is the folder of its socket and, in data, of its files; $PBOOST_TEST_POSTGRESQL
# that of PostgreSQL's programs.
# $PBOOST_TEST_CRASH is a program that ends the server at once and starts it again.  A library in
# $PBOOST_TEST_PRELOAD is loaded into the server; its orders are in $PBOOST_TEST_FAULT_FILE: see
# postgresql_faults.c.
set -euo pipefail
bin=$(find /usr/lib/postgresql -maxdepth 2 -name bin 2>/dev/null | sort -V | tail -n 1)
if [ -z "$bin" ] || [ ! -x "$bin/initdb" ]; then
    echo "PostgreSQL is not installed: skipped" >&2
    exit 77
fi
root=$(mktemp -d /tmp/pboost-postgresql-XXXXXX)
as=()
head -c 64 /dev/zero >"$root/faults"
if [ "$(id -u)" -eq 0 ]; then # the server refuses to run as root
    as=(runuser -u postgres --)
    chown postgres "$root" "$root/faults"
fi
chmod 755 "$root"
preload=
if [ -n "${PBOOST_TEST_PRELOAD:-}" ]; then # the server's user may not be let into the build folder
    preload=$root/preload.so
    install -m 755 "$PBOOST_TEST_PRELOAD" "$preload"
fi
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
cat >start <<SH
#!/bin/sh
export FAULT_FILE="$root/faults" LD_PRELOAD="$preload"
exec "$bin/pg_ctl" -D "$root/data" -l "$root/log" -w -t 120 start \\
    -o "-c listen_addresses='' -c unix_socket_directories='$root' -c max_connections=200" >/dev/null
SH
cat >crash <<SH
#!/bin/sh
cd "$root"
${as[*]} "$bin/pg_ctl" -D "$root/data" -m immediate -w stop >/dev/null
exec ${as[*]} "$root/start"
SH
chmod 755 start crash
"${as[@]}" "$bin/initdb" -D "$root/data" -U test -A trust -E UTF8 --locale=C >/dev/null
server=yes
"${as[@]}" "$root/start" || { cat "$root/log" >&2; exit 1; }
export XDG_STATE_HOME="$root/state" # key files
export PBOOST_TEST_STORE="postgresql:///postgres?host=$root&user=test"
export PBOOST_TEST_CRASH="$root/crash" PBOOST_TEST_FAULT_FILE="$root/faults"
export PBOOST_TEST_SERVER=$root PBOOST_TEST_POSTGRESQL=$bin
status=0
"$@" || status=$?
exit $status
