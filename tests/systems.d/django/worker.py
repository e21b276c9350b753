"""The worker of every queue for Django, by the name of its app."""

import os
import sys
from pathlib import Path

sys.path.append(str(Path(__file__).parent.parent))
import django
from django.conf import settings
from django.core.management import call_command

app, verb = sys.argv[1:]
engine, database = os.environ["ENGINE"], os.environ["DATABASE"]
files = {"ENGINE": "django.db.backends.sqlite3", "NAME": database, "OPTIONS": {"timeout": 30}}
server = {
    "ENGINE": "django.db.backends.postgresql", "NAME": os.environ.get("PGDATABASE"), "USER": "claimtop",
    "HOST": os.environ.get("PGHOST"), "PORT": os.environ.get("PGPORT"),
}
backend = {"default": {"BACKEND": "django_tasks_db.DatabaseBackend"}}
APPS = {"django_tasks": ["django_tasks_db"]}
settings.configure(
    DATABASES={"default": files if engine == "sqlite" else server},
    INSTALLED_APPS=["django.contrib.contenttypes", "django.contrib.auth", *APPS.get(app, []), app],
    USE_TZ=True,
    SECRET_KEY="proof",
    DEFAULT_AUTO_FIELD="django.db.models.AutoField",
    TASKS=backend,
    JOBS={"job": {"tasks": ["job.step"]}},
    Q_CLUSTER={"name": "proof", "orm": "default", "workers": 1, "retry": 600, "timeout": 590, "poll": 0.2, "sync": False},
)
django.setup()
if app == "django_tasks":
    from django_tasks import task

    import job

    # Both sides look the task up by its path.
    job.job = task(job.job)


def enqueue() -> None:
    match app:
        case "django_tasks":
            import job

            job.job.enqueue()
        case "django_q":
            from django_q.tasks import async_task

            async_task("job.job")
        case "background_task":
            from background_task import background

            import job
            background(schedule=0)(job.job)()
        case "django_dbq":
            from django_dbq.models import Job

            Job.objects.create(name="job")


def work() -> None:
    import job

    match app:
        case "django_tasks":
            call_command("db_worker", interval=0.1, startup_delay=False)
        case "django_q":
            call_command("qcluster")
        case "background_task":
            from background_task import background

            background(schedule=0)(job.job)
            call_command("process_tasks", sleep=0.1)
        case "django_dbq":
            call_command("worker", rate_limit=0)


match verb:
    case "setup":
        call_command("migrate", verbosity=0)
    case "enqueue":
        enqueue()
    case "work":
        work()
