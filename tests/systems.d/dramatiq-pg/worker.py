import subprocess
import threading
import os
import sys
from pathlib import Path

sys.path.append(str(Path(__file__).parent.parent))
import dramatiq
import dramatiq_pg
import job

broker = dramatiq_pg.PostgresBroker(url=os.environ["DATABASE"])
dramatiq.set_broker(broker)


@dramatiq.actor(time_limit=float("inf"))
def task():
    job.job()


match sys.argv[1]:
    case "setup":
        # The library brings its tables as a script for psql.
        schema = Path(dramatiq_pg.__file__).parent / "schema.sql"
        subprocess.run([Path(os.environ["CLAIMTOP_PG_BIN"]) / "psql", "-Xq", "-f", schema], check=True)
    case "enqueue":
        task.send()
    case "work":
        dramatiq.Worker(broker, worker_threads=1).start()
        threading.Event().wait()
