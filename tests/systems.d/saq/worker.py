import asyncio
import os
import sys
from pathlib import Path

sys.path.append(str(Path(__file__).parent.parent))
from job import LEASE, async_job
from saq import Queue, Worker

queue = Queue.from_url(os.environ["DATABASE"].replace("postgres://", "postgresql://"))


async def task(_):
    await async_job()


async def main():
    match sys.argv[1]:
        case "work":
            await queue.connect()
            await Worker(queue, functions=[("job", task)], timers={"sweep": 3600}).start()
        case verb:
            await queue.connect()
            if verb == "enqueue":
                await queue.enqueue("job", timeout=LEASE or 600, retries=1)
            await queue.disconnect()


asyncio.run(main())
