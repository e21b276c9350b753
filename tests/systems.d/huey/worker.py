import os
import sys
from pathlib import Path

sys.path.append(str(Path(__file__).parent.parent))
from huey import PostgresHuey, SqliteHuey
from huey.exceptions import TaskLockedException
from job import is_held, job

if os.environ["ENGINE"] == "sqlite":
    huey = SqliteHuey("jobs", filename=os.environ["DATABASE"])
else:
    huey = PostgresHuey("jobs", dsn=os.environ["DATABASE"])


@huey.task(retries=1000)
def locked():
    with huey.lock_task("nightly"):
        job()


match sys.argv[1]:
    case "enqueue":
        locked()
    case "work":
        # The killed task took its message with it: whoever runs next brings a message of its own.
        if not is_held() or not huey.pending():
            locked()
        huey.create_consumer(workers=1, initial_delay=0.05, max_delay=0.1).run()
