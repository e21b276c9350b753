"""A fresh database for one proof, on either engine, and a look at its rows and tables."""

import os
import sqlite3
import subprocess
from pathlib import Path


class Sqlite:
    engine = "sqlite"

    def __init__(self, name: str, folder: Path):
        self.source = str(folder / f"{name}.db")
        # Some libraries never create the file themselves.
        sqlite3.connect(self.source).close()
        self.environment = {"ENGINE": self.engine, "DATABASE": self.source}

    def query(self, sql: str) -> list[tuple]:
        connection = sqlite3.connect(self.source, timeout=30)
        try:
            rows = connection.execute(sql).fetchall()
            connection.commit()
            return rows
        finally:
            connection.close()

    def script(self, sql: str) -> None:
        connection = sqlite3.connect(self.source, timeout=30)
        connection.executescript(sql)
        connection.close()

    def tables(self) -> list[str]:
        listed = "SELECT name FROM sqlite_master WHERE type = 'table' AND name NOT LIKE 'sqlite_%' ORDER BY name"
        return [f'"{name}"' for (name,) in self.query(listed)]

    def rows(self, table: str) -> list[str]:
        return sorted(map(repr, self.query(f"SELECT * FROM {table}")))

    def schema(self) -> str:
        """The tables as plain SQL: names, types and keys of the columns."""
        text = []
        for table in self.tables():
            columns = self.query(f"SELECT name, type, \"notnull\", pk, hidden FROM pragma_table_xinfo('{table[1:-1]}')")
            lines = [f'  "{name}" {kind}' + (" NOT NULL" if must else "") for name, kind, must, _, _ in columns]
            key = [f'"{name}"' for name, _, _, place, _ in sorted(columns, key=lambda column: column[3]) if place]
            if key:
                lines.append(f"  PRIMARY KEY ({', '.join(key)})")
            text.append(f"CREATE TABLE {table} (\n" + ",\n".join(lines) + "\n);\n")
        return "\n".join(text)


class Postgres:
    engine = "postgres"

    def __init__(self, name: str, folder: Path):
        """The server is the one of tests/postgres.sh."""
        self.database = name.replace("-", "_").replace(".", "_")
        host, port = os.environ["SYSTEMS_PGHOST"], os.environ["SYSTEMS_PGPORT"]
        self.psql = [f"{os.environ['CLAIMTOP_PG_BIN']}/psql", "-XAtq", "-v", "ON_ERROR_STOP=1", "-h", host, "-p", port]
        self.psql += ["-U", "claimtop"]
        self._run("postgres", f'CREATE DATABASE "{self.database}"')
        self.source = f"postgres://claimtop@{host}:{port}/{self.database}"
        self.environment = {
            "ENGINE": self.engine, "DATABASE": self.source, "PGHOST": host, "PGPORT": port,
            "PGUSER": "claimtop", "PGPASSWORD": "none", "PGDATABASE": self.database,
        }

    def _run(self, database: str, sql: str) -> str:
        done = subprocess.run([*self.psql, "-d", database], input=sql, capture_output=True, text=True)
        if done.returncode:
            raise RuntimeError(done.stderr.strip())
        return done.stdout

    def script(self, sql: str) -> None:
        self._run(self.database, sql)

    def query(self, sql: str) -> list[tuple]:
        return [tuple(line.split("|")) for line in self._run(self.database, sql).splitlines()]

    def tables(self) -> list[str]:
        return [name for (name,) in self.query(
            "SELECT format('%I.%I', nspname, relname) FROM pg_class c JOIN pg_namespace n ON n.oid = relnamespace"
            " WHERE relkind IN ('r', 'p') AND NOT relispartition"
            " AND nspname <> 'information_schema' AND nspname NOT LIKE 'pg\\_%' ORDER BY 1")]

    def rows(self, table: str) -> list[str]:
        return sorted(self._run(self.database, f"SELECT t::text FROM {table} t").splitlines())

    def schema(self) -> str:
        """The tables as plain SQL: schemas, enums, and names, types and keys of the columns."""
        made = [sql for (sql,) in self.query(
            "SELECT format('CREATE SCHEMA %I;', nspname) FROM pg_namespace"
            " WHERE nspname NOT IN ('public', 'information_schema') AND nspname NOT LIKE 'pg\\_%' ORDER BY 1")]
        made += [sql for (sql,) in self.query(
            "SELECT format('CREATE TYPE %s AS ENUM (%s);', t.oid::regtype,"
            " string_agg(quote_literal(enumlabel), ', ' ORDER BY enumsortorder))"
            " FROM pg_enum e JOIN pg_type t ON t.oid = enumtypid GROUP BY t.oid ORDER BY 1")]
        text = ["\n".join(made) + "\n"] if made else []
        for table in self.tables():
            columns = [line for (line,) in self.query(
                # Types of extensions are no part of what a profile reads.
                "SELECT format('  %I %s%s', attname, CASE WHEN EXISTS (SELECT 1 FROM pg_depend WHERE objid = atttypid"
                " AND deptype = 'e') THEN 'text' ELSE format_type(atttypid, atttypmod) END,"
                " CASE WHEN attnotnull THEN ' NOT NULL' ELSE '' END)"
                f" FROM pg_attribute WHERE attrelid = '{table}'::regclass AND attnum > 0 AND NOT attisdropped"
                " ORDER BY attnum")]
            columns += [f"  {key}" for (key,) in self.query(
                f"SELECT pg_get_constraintdef(oid) FROM pg_constraint WHERE contype = 'p'"
                f" AND conrelid = '{table}'::regclass")]
            text.append(f"CREATE TABLE {table} (\n" + ",\n".join(columns) + "\n);\n")
        return "\n".join(text)


ENGINES = {"sqlite": Sqlite, "postgres": Postgres}
