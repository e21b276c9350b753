import asyncio
import os
import sys
from pathlib import Path

sys.path.append(str(Path(__file__).parent.parent))
from chancy import Chancy, Job, Queue, Worker
from job import async_job


async def main():
    async with Chancy(os.environ["DATABASE"]) as chancy:
        match sys.argv[1]:
            case "setup":
                await chancy.migrate()
                await chancy.declare(Queue("default", executor=Chancy.Executor.Async, polling_interval=1))
            case "enqueue":
                await chancy.push(Job.from_func(async_job, queue="default", max_attempts=1))
            case "work":
                async with Worker(chancy) as worker:
                    await worker.wait_for_shutdown()


asyncio.run(main())
