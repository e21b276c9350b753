import asyncio
import os
import sys
from pathlib import Path

sys.path.append(str(Path(__file__).parent.parent))
from job import async_job
from oban import Oban, worker
from oban.schema import install
from psycopg_pool import AsyncConnectionPool


@worker(queue="default", max_attempts=1)
class Task:
    async def process(self, _):
        await async_job()


async def main():
    async with AsyncConnectionPool(os.environ["DATABASE"]) as pool:
        match sys.argv[1]:
            case "setup":
                await install(pool)
            case "enqueue":
                async with Oban(pool=pool, name="Oban") as oban:
                    await oban.enqueue(Task.new({}))
            case "work":
                async with Oban(pool=pool, name="Oban", queues={"default": 1}):
                    await asyncio.Event().wait()


asyncio.run(main())
