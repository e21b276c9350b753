set -euo pipefail
sql() { "$CLAIMTOP_PG_BIN/psql" -Xq -v ON_ERROR_STOP=1; }

# The script of a step sees nothing of our environment.
script="#!/bin/sh
echo started >>$LOG
while [ -e $HOLD ]; do sleep 0.05; done
echo done >>$LOG"

case $1 in
setup) echo 'CREATE EXTENSION pgagent' | sql ;;
enqueue)
  sql <<SQL
DELETE FROM pgagent.pga_job;
INSERT INTO pgagent.pga_job (jobjclid, jobname, jobnextrun) VALUES (1, 'job', now());
INSERT INTO pgagent.pga_jobstep (jstjobid, jstname, jstkind, jstdbname, jstcode)
SELECT jobid, 'step', 'b', '', '$script' FROM pgagent.pga_job;
SQL
  ;;
work) exec pgagent -f -t 1 -l 0 "host=$PGHOST port=$PGPORT user=$PGUSER dbname=$PGDATABASE" ;;
esac
