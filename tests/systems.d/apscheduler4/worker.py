import asyncio
import os
import sys
from pathlib import Path

sys.path.append(str(Path(__file__).parent.parent))
from apscheduler import AsyncScheduler
from apscheduler.datastores.sqlalchemy import SQLAlchemyDataStore
from job import LEASE, async_job
from sqlalchemy.ext.asyncio import create_async_engine

engine = create_async_engine(os.environ["DATABASE"].replace("postgres://", "postgresql+asyncpg://"))


async def main():
    async with AsyncScheduler(SQLAlchemyDataStore(engine), lease_duration=LEASE or 30) as scheduler:
        match sys.argv[1]:
            case "enqueue":
                await scheduler.configure_task(async_job, misfire_grace_time=None)
                await scheduler.add_job(async_job)
            case "work":
                await scheduler.run_until_stopped()


asyncio.run(main())
