# shellcheck shell=bash
# A private MariaDB server for one run of the tests; read by ./tests/run after tests/postgres.sh.
#   begin_mysql   makes and starts it, exports CLAIMTOP_TEST_MYSQL; without a server only says so
#   end_mysql     stops it and removes its folder
# To use another server on which databases and users may be made, name it in CLAIMTOP_TEST_MYSQL, as claimtop takes an
# address: 'mysql://root@localhost?socket=/run/mysqld/mysqld.sock'
#
# MySQL itself is in no stable release of Debian. `mysql_itself=yes` fetches it from sid (58 MB, kept for the next time) into
# a folder of its own, with a state of apt's of its own: nothing is installed. It runs with the libraries of sid.

mysql_folder=
mysql_pid=
mysql_itself=${mysql_itself:-}
# Where the server's user can read it, and whoever runs the tests alone can write.
mysql_cache=${CLAIMTOP_TEST_CACHE:-/var/tmp/claimtop-tests-$(id -u)}
mysql_root=$mysql_cache/mysql

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

make_mysql_cache() {
  mkdir -p -m 755 "$mysql_cache" && [ -O "$mysql_cache" ] && [ ! -L "$mysql_cache" ]
}

# MariaDB's plugins are in a package that starts a service: it is unpacked, not installed. Exports CLAIMTOP_MARIADB_PLUGINS.
fetch_mariadb_plugins() {
  local folder=$mysql_cache/mariadb plugins=usr/lib/mysql/plugin
  make_mysql_cache || return 1
  if [ ! -d "$folder/$plugins" ]; then
    rm -rf "$folder.new" && mkdir "$folder.new" &&
      (cd "$folder.new" && timeout 600 apt-get -qq download mariadb-server && dpkg-deb -x ./mariadb-server*.deb .) &&
      chmod -R a+rX "$folder.new" && mv "$folder.new" "$folder" || return 1
  fi
  export CLAIMTOP_MARIADB_PLUGINS=$folder/$plugins
}

# Unpacks MySQL's server and every library that it needs, unless it is there already.
fetch_mysql() {
  make_mysql_cache || return 1
  if [ -x "$mysql_root/usr/sbin/mysqld" ]; then return 0; fi
  local keys=/usr/share/keyrings/debian-archive-keyring.gpg apt deb
  if ! command -v apt-get >/dev/null || [ ! -e "$keys" ]; then return 1; fi
  apt=$(mktemp -d)
  mkdir -p "$apt/state/lists/partial" "$apt/cache/archives/partial"
  : >"$apt/state/status"
  echo "deb [signed-by=$keys] http://deb.debian.org/debian sid main" >"$apt/sources"
  local options=(-qq -o "Dir::State=$apt/state" -o "Dir::State::status=$apt/state/status" -o "Dir::Cache=$apt/cache"
    -o "Dir::Etc::sourcelist=$apt/sources" -o Dir::Etc::sourceparts=/dev/null -o Acquire::Languages=none
    -o Dir::Etc::preferencesparts=/dev/null -o APT::Sandbox::User= -o Acquire::Retries=3 -o Acquire::http::Timeout=60)
  if ! timeout 600 apt-get "${options[@]}" update ||
    ! timeout 900 apt-get "${options[@]}" --yes --no-install-recommends --download-only install mysql-server-core; then
    rm -rf "$apt"
    return 1
  fi
  # Complete or not at all: the next run looks for it under this name.
  mkdir -p "$apt/root"
  for deb in "$apt"/cache/archives/*.deb; do dpkg-deb -x "$deb" "$apt/root" || return 1; done
  rm -rf "$mysql_root"
  chmod -R a+rX "$apt/root"
  mv "$apt/root" "$mysql_root"
  rm -rf "$apt"
}

# A program of the unpacked system, with the libraries of that system.
in_mysql_root() {
  local program=$1 lib=$mysql_root/usr/lib/x86_64-linux-gnu
  shift
  as_mysql "$mysql_root/usr/lib64/ld-linux-x86-64.so.2" --library-path "$lib:$lib/mysql/private:$mysql_root/usr/lib/mysql/private" \
    "$mysql_root$program" "$@"
}

begin_mysql() {
  if [ -n "${CLAIMTOP_TEST_MYSQL:-}" ]; then return 0; fi
  if [ -n "$mysql_itself" ] && ! fetch_mysql; then
    echo "tests/run: MySQL could not be fetched from Debian sid: its tests are NOT RUN." >&2
    return 0
  fi
  # The core package has the programs alone: no service, no user, no configuration.
  if [ -z "$mysql_itself" ] && ! find_mysql && ! { install mariadb-server-core && find_mysql; }; then
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
    echo "tests/run: the private server of MySQL or MariaDB does not start: the tests on MySQL are NOT RUN." >&2
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
  # What is lost in a crash does not matter here, only the time that it takes not to lose it.
  local options=(--datadir="$mysql_folder/data" --socket="$mysql_folder/s" --pid-file="$mysql_folder/pid"
    --log-error="$mysql_folder/log" --tmpdir="$mysql_folder" --skip-name-resolve --max-connections=300 --innodb-flush-log-at-trx-commit=0
    --innodb-doublewrite=0 --innodb-buffer-pool-size=64M --default-time-zone=+00:00)
  if [ -n "$mysql_itself" ]; then
    local share=$mysql_root/usr/share/mysql
    options+=(--basedir="$mysql_root/usr" --lc-messages-dir="$share" --character-sets-dir="$share/charsets"
      --plugin-dir="$mysql_root/usr/lib/mysql/plugin" --secure-file-priv= --mysqlx=OFF --skip-log-bin)
    in_mysql_root /usr/sbin/mysqld --no-defaults --initialize-insecure "${options[@]}" || exit 1
    # With TCP on this machine: its usual way to log in differs there.
    in_mysql_root /usr/sbin/mysqld --no-defaults "${options[@]}" --bind-address=127.0.0.1 \
      --port="$((10000 + $$ % 20000))" &
  else
    as_mysql "$mysql_install" --no-defaults --datadir="$mysql_folder/data" --skip-test-db --skip-name-resolve \
      --auth-root-authentication-method=normal --innodb-log-file-size=8M || exit 1
    as_mysql "$mysql_program" --no-defaults "${options[@]}" --skip-networking --innodb-log-file-size=32M &
  fi
  # The socket is there once it answers.
  for _ in $(seq 600); do
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
