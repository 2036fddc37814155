#!/usr/bin/env bash
# with_postgresql.sh with_pgbouncer.sh COMMAND...: runs it with a pgbouncer between it and the server,
# which ends with it.  Exit code 77 (skipped) where pgbouncer is not installed.
#
# Few connections serve all clients of a database, a transaction each ($PBOOST_TEST_POOL_MODE:
# transaction), with whatever settings the last one left.  $PBOOST_TEST_DIRECT is the server itself.
set -euo pipefail
PATH=$PATH:/usr/sbin
if ! command -v pgbouncer >/dev/null; then
    echo "pgbouncer is not installed: skipped" >&2
    exit 77
fi
root=$(mktemp -d /tmp/pboost-pgbouncer-XXXXXX)
as=()
[ "$(id -u)" -ne 0 ] || as=(setpriv --reuid=postgres --regid=postgres --init-groups) # it refuses to run as root
cat >"$root/pgbouncer.ini" <<INI
[databases]
* = host=$PBOOST_TEST_SERVER
[pgbouncer]
listen_addr =
unix_socket_dir = $root
listen_port = 6432
auth_type = trust
auth_file = $root/users
pool_mode = ${PBOOST_TEST_POOL_MODE:-transaction}
default_pool_size = 2
max_client_conn = 500
server_idle_timeout = 5
logfile = $root/log
INI
echo '"test" ""' >"$root/users"
chmod 755 "$root"
[ ${#as[@]} -eq 0 ] || chown -R postgres "$root"
pooler=
finish() {
    [ -z "$pooler" ] || kill "$pooler" 2>/dev/null || true
    [ -z "$pooler" ] || wait "$pooler" 2>/dev/null || true
    rm -rf "$root"
}
trap finish EXIT
trap 'exit 130' INT TERM
"${as[@]}" pgbouncer -q "$root/pgbouncer.ini" &
pooler=$!
for _ in $(seq 200); do
    [ ! -S "$root/.s.PGSQL.6432" ] || break
    kill -0 "$pooler" 2>/dev/null || { cat "$root/log" >&2; exit 1; }
    sleep 0.05
done
export PBOOST_TEST_DIRECT=$PBOOST_TEST_STORE
export PBOOST_TEST_STORE="postgresql:///postgres?host=$root&port=6432&user=test"
status=0
"$@" || status=$?
exit $status
