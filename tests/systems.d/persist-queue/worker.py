import os
import shutil
import sys
import time
from pathlib import Path

sys.path.append(str(Path(__file__).parent.parent))
from job import job
from persistqueue import Empty, SQLiteAckQueue

# Unless it is told otherwise, a new consumer takes over whatever others have in hand.
folder, name = os.path.split(os.environ["DATABASE"])
queue = SQLiteAckQueue(folder, db_file_name=name, auto_resume=False, multithreading=True)
match sys.argv[1]:
    case "enqueue":
        queue.put("job")
    case "work":
        while True:
            try:
                item = queue.get(block=False)
            except Empty:
                time.sleep(0.1)
                continue
            job()
            queue.ack(item)
