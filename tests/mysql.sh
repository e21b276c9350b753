# shellcheck shell=bash
# A private MariaDB server for one run of the tests; read by ./tests/run after tests/postgres.sh.
#   begin_mysql   makes and starts it, exports CLAIMTOP_TEST_MYSQL; without a server only says so
#   end_mysql     stops it and removes its folder
# To use another server on which databases and users may be made, MySQL itself for example, name it in
# CLAIMTOP_TEST_MYSQL, as claimtop takes an address: 'mysql://root@localhost?socket=/run/mysqld/mysqld.sock'

mysql_folder=
mysql_pid=

# Its programs: in a folder that is not on everybody's PATH.
find_mysql() {
  mysql_program=$(command -v mariadbd || ls /usr/sbin/mariadbd 2>/dev/null) &&
    mysql_install=$(command -v mariadb-install-db || ls /usr/bin/mariadb-install-db 2>/dev/null)
}

# Like PostgreSQL it does not run as root, so root lends it another user.
as_mysql() {
  if [ "$(id -u)" != 0 ]; then
    "$@"
  else
    setpriv --reuid nobody --regid "$(id -g nobody)" --clear-groups -- "$@"
  fi
}

begin_mysql() {
  if [ -n "${CLAIMTOP_TEST_MYSQL:-}" ]; then return 0; fi
  # The core package has the programs alone: no service, no user, no configuration.
  if ! find_mysql && ! { install mariadb-server-core && find_mysql; }; then
    echo "tests/run: no MariaDB server found, and none could be installed: the tests on MySQL are NOT RUN." >&2
    echo "  Install the package mariadb-server-core, or name a server in CLAIMTOP_TEST_MYSQL." >&2
    return 0
  fi
  # The path of a socket ends at 107 bytes, so a long TMPDIR is not used.
  local parent=${TMPDIR:-/tmp}
  if [ "${#parent}" -gt 60 ]; then parent=/tmp; fi
  mysql_folder=$(mktemp -d "$parent/claimtop-my.XXXXXX")
  chmod 755 "$mysql_folder"
  if [ "$(id -u)" = 0 ]; then chown nobody "$mysql_folder"; fi
  if ! make_and_start_mysql >"$mysql_folder/begin" 2>&1 </dev/null; then
    echo "tests/run: the private MariaDB server does not start: the tests on MySQL are NOT RUN." >&2
    cat "$mysql_folder/begin" "$mysql_folder/log" >&2 2>/dev/null || true
    end_mysql
    return 0
  fi
  mysql_pid=$(cat "$mysql_folder/pid")
  export CLAIMTOP_TEST_MYSQL="mysql://root@localhost?socket=$mysql_folder/s"
}

# In a shell of its own: the server's user may not enter the folder the tests run in.
make_and_start_mysql() (
  cd "$mysql_folder" || exit 1
  as_mysql "$mysql_install" --no-defaults --datadir="$mysql_folder/data" --skip-test-db --skip-name-resolve \
    --auth-root-authentication-method=normal --innodb-log-file-size=8M || exit 1
  # What is lost in a crash does not matter here, only the time that it takes not to lose it.
  as_mysql "$mysql_program" --no-defaults --datadir="$mysql_folder/data" --socket="$mysql_folder/s" \
    --pid-file="$mysql_folder/pid" --log-error="$mysql_folder/log" --skip-networking --skip-name-resolve \
    --max-connections=300 --innodb-flush-log-at-trx-commit=0 --innodb-doublewrite=0 \
    --innodb-log-file-size=32M --innodb-buffer-pool-size=64M --default-time-zone=+00:00 &
  # The socket is there once it answers.
  for _ in $(seq 300); do
    if [ -S "$mysql_folder/s" ] && [ -s "$mysql_folder/pid" ]; then exit 0; fi
    kill -0 $! 2>/dev/null || exit 1
    sleep 0.1
  done
  exit 1
)

end_mysql() {
  if [ -z "$mysql_folder" ]; then return 0; fi
  # Its data is thrown away: nothing has to be written any more.
  if [ -n "$mysql_pid" ]; then kill -KILL "$mysql_pid" 2>/dev/null || true; fi
  rm -rf "$mysql_folder"
  mysql_folder=
  mysql_pid=
}
