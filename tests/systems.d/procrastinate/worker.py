import os
import sys
from pathlib import Path

sys.path.append(str(Path(__file__).parent.parent))
from job import async_job
from procrastinate import App, PsycopgConnector

app = App(connector=PsycopgConnector(conninfo=os.environ["DATABASE"]))


@app.task(name="job")
async def task():
    await async_job()


async def main():
    async with app.open_async():
        match sys.argv[1]:
            case "setup":
                await app.schema_manager.apply_schema_async()
            case "enqueue":
                await task.defer_async()
            case "work":
                await app.run_worker_async(install_signal_handlers=False)


import asyncio

asyncio.run(main())
