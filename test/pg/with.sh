#!/usr/bin/env bash
# Runs a command with a PostgreSQL cluster of its own, made in a temporary folder
# and removed afterwards:
#
#   test/pg/with.sh go test ./...
#
# The command finds the server in TENON_TEST_DATABASE_URL. The cluster belongs to
# an unprivileged user, listens on a unix socket only and trades safety for speed.
# Where PostgreSQL is not installed the script says "PostgreSQL: skipped" and runs
# the command without it; with TENON_REQUIRE_POSTGRES=1 it fails instead.
set -euo pipefail

without() {
  echo "PostgreSQL: skipped ($1)"
  if [[ ${TENON_REQUIRE_POSTGRES:-} == 1 ]]; then
    echo "TENON_REQUIRE_POSTGRES=1: a run without PostgreSQL counts as failed" >&2
    exit 1
  fi
  shift
  exec "$@"
}

if [[ -n ${TENON_TEST_DATABASE_URL:-} ]]; then
  echo "PostgreSQL: the server in TENON_TEST_DATABASE_URL"
  exec "$@"
fi

bin=
if command -v initdb >/dev/null 2>&1; then
  bin=$(dirname "$(readlink -f "$(command -v initdb)")")
else
  for dir in $(compgen -G '/usr/lib/postgresql/*/bin' | sort -rV); do
    [[ -x $dir/initdb ]] && bin=$dir && break
  done
fi
[[ -n $bin ]] || without "not installed" "$@"

as=()
if [[ $(id -u) == 0 ]]; then
  id postgres >/dev/null 2>&1 || without "no unprivileged user 'postgres'" "$@"
  as=(setpriv --reuid=postgres --regid=postgres --init-groups)
fi

# A unix socket's path has room for 107 bytes, so TMPDIR is left alone.
folder=$(mktemp -d /tmp/tenon-pg.XXXXXX)
[[ ${#as[@]} -eq 0 ]] || chown postgres: "$folder"
stop() {
  (cd / && "${as[@]}" "$bin/pg_ctl" -D "$folder/data" -m immediate -w stop >/dev/null 2>&1) || true
  rm -rf "$folder"
}
trap stop EXIT
trap 'exit 130' INT
trap 'exit 143' TERM

start() {
  cd /
  "${as[@]}" "$bin/initdb" -D "$folder/data" -U postgres --auth=trust --encoding=UTF8 --locale=C --no-sync
  "${as[@]}" "$bin/pg_ctl" -D "$folder/data" -w -t 60 -l "$folder/server.log" -o "-k $folder \
    -c listen_addresses='' -c unix_socket_permissions=0700 \
    -c fsync=off -c synchronous_commit=off -c full_page_writes=off -c autovacuum=off \
    -c max_connections=300 -c shared_buffers=64MB -c max_wal_size=256MB" start
}
if ! (start) >"$folder/start.log" 2>&1; then
  cat "$folder/start.log" "$folder/server.log" 2>/dev/null >&2 || true
  echo "PostgreSQL: could not be started" >&2
  exit 1
fi

export TENON_TEST_DATABASE_URL="postgres://postgres@/postgres?host=$folder"
echo "PostgreSQL: $("$bin/postgres" --version)"
status=0
"$@" || status=$?
exit "$status"
