import os
import sys
import time
from pathlib import Path

sys.path.append(str(Path(__file__).parent.parent))
from job import job
from litequeue import LiteQueue

queue = LiteQueue(os.environ["DATABASE"])
match sys.argv[1]:
    case "enqueue":
        queue.put("job")
    case "work":
        while True:
            if message := queue.pop():
                job()
                queue.done(message.message_id)
            time.sleep(0.1)
