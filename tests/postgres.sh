# shellcheck shell=bash
# A private PostgreSQL server for one run of the tests; read by ./tests/run.
#   begin_server   makes and starts it, exports CLAIMTOP_TEST_POSTGRES and CLAIMTOP_PG_BIN
#   end_server     stops it and removes its folder

server_folder=
server_bin=
# Whoever needs TCP sets these two first; by default the server has only a socket in its folder.
server_address=${server_address:-}
server_port=${server_port:-5432}

# The folder with the server's binaries: the one named, the newest of Debian's, or the one on PATH.
find_server() {
  local folder
  for folder in "${CLAIMTOP_PG_BIN:-}" \
    $(printf '%s\n' /usr/lib/postgresql/*/bin | sort --version-sort --reverse) \
    "$(dirname "$(command -v initdb || echo /nowhere/initdb)")"; do
    if [ -x "$folder/initdb" ] && [ -x "$folder/postgres" ]; then
      server_bin=$folder
      return 0
    fi
  done
  return 1
}

# Runs a command as root, if that is possible without asking anybody.
as_root() {
  if [ "$(id -u)" = 0 ]; then "$@"; else sudo -n "$@"; fi
}

# Installs packages without starting any service of theirs and without a default cluster. The two
# files that see to that are gone afterwards, unless they were there before.
install() {
  command -v apt-get >/dev/null && as_root true 2>/dev/null || return 1
  local policy=/usr/sbin/policy-rc.d clusters=/etc/postgresql-common/createcluster.d/claimtop-tests.conf
  local made=() code=0
  if [ ! -e "$policy" ]; then
    printf '#!/bin/sh\nexit 101\n' | as_root tee "$policy" >/dev/null
    as_root chmod 755 "$policy"
    made+=("$policy")
  fi
  if [ ! -e "$clusters" ]; then
    as_root mkdir -p "$(dirname "$clusters")"
    echo 'create_main_cluster = false' | as_root tee "$clusters" >/dev/null
    made+=("$clusters")
  fi
  apt_install "$@" || apt_install "$@" || code=1
  if [ "${#made[@]}" -gt 0 ]; then as_root rm -f "${made[@]}"; fi
  return "$code"
}

# Waits for whoever else installs, and for a slow mirror, but not forever. Only the download has a limit: ended half-way,
# an install would leave the system's packages broken.
apt_install() {
  echo "tests/run: installing $*" >&2
  local patience=(-o DPkg::Lock::Timeout=300 -o Acquire::Retries=3 -o Acquire::http::Timeout=60)
  local install=(apt-get -qq --yes --no-install-recommends "${patience[@]}" install "$@")
  { as_root timeout 600 apt-get -qq "${patience[@]}" update &&
    as_root timeout 900 "${install[@]}" --download-only &&
    as_root env DEBIAN_FRONTEND=noninteractive "${install[@]}"
  } >/dev/null 2>&1 </dev/null
}

# Each on its own: that one cannot be had must not cost the others.
install_missing() {
  command -v chromium >/dev/null || install chromium || true
  find_server || install postgresql || true
  command -v pgbouncer >/dev/null || [ -x /usr/sbin/pgbouncer ] || install pgbouncer || true
  ls /usr/lib/*/faketime/libfaketime.so.1 >/dev/null 2>&1 || install libfaketime || true
  command -v prometheus >/dev/null || install prometheus || true
}

# PostgreSQL refuses to run as root, so root lends it another user.
as_server() {
  if [ "$(id -u)" != 0 ]; then
    "$@"
  elif command -v runuser >/dev/null; then
    runuser -u "$(server_user)" -- "$@"
  else
    setpriv --reuid "$(server_user)" --regid "$(id -g "$(server_user)")" --clear-groups -- "$@"
  fi
}

server_user() {
  if id postgres >/dev/null 2>&1; then echo postgres; else echo nobody; fi
}

begin_server() {
  install_missing
  if find_server; then export CLAIMTOP_PG_BIN=$server_bin; fi
  if [ -n "${CLAIMTOP_TEST_POSTGRES:-}" ]; then return 0; fi
  if [ -z "$server_bin" ]; then
    echo "tests/run: no PostgreSQL server found on PATH or in /usr/lib/postgresql, and none could be" >&2
    echo "  installed. Install the package postgresql, name the folder of its binaries in" >&2
    echo "  CLAIMTOP_PG_BIN, or a running server in CLAIMTOP_TEST_POSTGRES." >&2
    return 1
  fi
  # The path of a socket ends at 107 bytes, so a long TMPDIR is not used.
  local parent=${TMPDIR:-/tmp}
  if [ "${#parent}" -gt 60 ]; then parent=/tmp; fi
  server_folder=$(mktemp -d "$parent/claimtop-pg.XXXXXX")
  if [ "$(id -u)" = 0 ]; then chown "$(server_user)" "$server_folder"; fi
  if ! make_and_start >"$server_folder/begin" 2>&1 </dev/null; then
    echo "tests/run: the private PostgreSQL server does not start:" >&2
    cat "$server_folder/begin" "$server_folder/log" >&2 2>/dev/null || true
    return 1
  fi
  export CLAIMTOP_TEST_POSTGRES="host=$server_folder user=claimtop dbname=postgres"
}

# In a shell of its own: the server's user may not enter the folder the tests run in.
make_and_start() (
  cd "$server_folder" || exit 1
  as_server "$server_bin/initdb" --pgdata=data --username=claimtop --auth=trust --encoding=UTF8 \
    --locale=C --no-sync || exit 1
  printf '%s\n' "listen_addresses = '$server_address'" "unix_socket_directories = '$server_folder'" "port = $server_port" \
    'fsync = off' 'full_page_writes = off' 'max_connections = 300' "timezone = 'UTC'" \
    >>data/postgresql.conf || exit 1
  as_server "$server_bin/pg_ctl" --pgdata=data --log=log --wait --timeout=120 start
)

end_server() {
  if [ -z "$server_folder" ]; then return 0; fi
  if [ -e "$server_folder/data/postmaster.pid" ]; then
    (cd "$server_folder" && as_server "$server_bin/pg_ctl" --pgdata=data --mode=immediate --wait stop) \
      >/dev/null 2>&1 </dev/null || true
  fi
  rm -rf "$server_folder"
  server_folder=
}
