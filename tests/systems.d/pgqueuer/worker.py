import asyncio
import os
import sys
from pathlib import Path

sys.path.append(str(Path(__file__).parent.parent))
import asyncpg
from job import async_job
from pgqueuer import AsyncpgDriver, PgQueuer, Queries


async def main():
    connection = await asyncpg.connect(os.environ["DATABASE"])
    match sys.argv[1]:
        case "setup":
            await Queries(AsyncpgDriver(connection)).install()
        case "enqueue":
            await Queries(AsyncpgDriver(connection)).enqueue("job", None)
        case "work":
            manager = PgQueuer.from_asyncpg_connection(connection)

            @manager.entrypoint("job")
            async def task(_):
                await async_job()

            await manager.run()


asyncio.run(main())
