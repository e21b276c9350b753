import os
import sys
from pathlib import Path

sys.path.append(str(Path(__file__).parent.parent))
from celery import Celery
from job import job

url = os.environ["DATABASE"].replace("postgres://", "postgresql://")
if os.environ["ENGINE"] == "sqlite":
    url = f"sqlite:///{url}"
app = Celery("proof", broker=f"sqla+{url}", backend=f"db+{url}")
app.conf.update(worker_prefetch_multiplier=1, database_create_tables_at_setup=True, broker_connection_retry_on_startup=True)
task = app.task(job, name="job")

match sys.argv[1]:
    case "setup":
        app.backend
    case "enqueue":
        task.delay()
    case "work":
        app.worker_main(["worker", "--pool=solo", "--without-gossip", "--without-mingle", "--without-heartbeat"])
