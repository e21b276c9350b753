import os
import sys
import threading
from pathlib import Path

sys.path.append(str(Path(__file__).parent.parent))
import job
from dbos import DBOS, DBOSClient
from dbos import DBOSConfig

url = os.environ["DATABASE"].replace("postgres://", "postgresql://")
config: DBOSConfig = {
    "name": "proof", "system_database_url": url, "executor_id": f"worker-{os.getpid()}", "application_version": "1",
    "run_admin_server": False,
}
DBOS(config=config)


@DBOS.workflow(name="job")
def task():
    job.job()


match sys.argv[1]:
    case "setup":
        DBOS.launch()
        DBOS.destroy()
    case "enqueue":
        client = DBOSClient(system_database_url=url)
        options = {"queue_name": "jobs", "workflow_name": "job", "app_version": "1", "workflow_timeout": job.LEASE}
        client.enqueue({key: value for key, value in options.items() if value})
        client.destroy()
    case "work":
        DBOS.launch()
        DBOS.register_queue("jobs", polling_interval_sec=0.2)
        threading.Event().wait()
