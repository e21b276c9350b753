set -euo pipefail
here=$(dirname "$0")
if [ "$1" = setup ]; then
  exec "$CLAIMTOP_PG_BIN/psql" -Xq -v ON_ERROR_STOP=1 -f "$here/../../it/systems/fixtures/quartz.postgres.sql" \
    -c "INSERT INTO qrtz_locks VALUES ('proof', 'TRIGGER_ACCESS'), ('proof', 'STATE_ACCESS')"
fi
jars=/usr/share/java
exec java -cp "$jars/quartz2.jar:$jars/postgresql.jar:$jars/slf4j-api.jar:$jars/slf4j-nop.jar" "$here/Worker.java" "$1"
