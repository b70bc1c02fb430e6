"""The sqlite-profile script, as a user meets it."""

from __future__ import annotations

import json
import sqlite3
from contextlib import closing

import pytest

SCRIPT = "sqlite-profile/profile_db.py"


@pytest.fixture
def profile(run, tmp_path):
    """Build a database from SQL and return its profile."""

    def build(sql, *arguments):
        with closing(sqlite3.connect(tmp_path / "t.db")) as database:
            database.executescript(sql)
        done = run(SCRIPT, "t.db", "--json", *arguments)
        assert done.returncode == 0, done.stderr
        return json.loads(done.stdout)[0]

    return build


@pytest.mark.parametrize("name", ["library.db", "library.sql"])
def test_library(run, fixture_file, name):
    source = fixture_file(f"sqlite-profile/{name}")
    before = source.read_bytes()
    done = run(SCRIPT, source)
    assert done.returncode == 0, done.stderr
    assert "4 tables, 1 views" in done.stdout
    problems = [line for line in done.stdout.splitlines() if line.startswith("- ")]
    assert problems == [
        "- column never holds a value: branches.fax",
        "- no index on foreign key loans(book_id) -> books",
        "- 3 orphaned rows: loans(book_id) -> books",
        "- no primary key: notices",
    ]
    assert "| pages | INTEGER | 1 (12.5%) | 0 | 7 | -1 | 340 |" in done.stdout
    assert "| shelf | TEXT | 2 (25.0%) | 2 | 4 |  |  |" in done.stdout
    assert "| returned_on | TEXT | 5 (50.0%) | 0 | 5 |  |  |" in done.stdout
    assert source.read_bytes() == before
    assert [path.name for path in source.parent.iterdir()] == [name]


def test_clean_dump(run, fixture_file):
    source = fixture_file("sqlite-profile/clean.sql")
    done = run(SCRIPT, source, "--fail-on-problems")
    assert done.returncode == 0
    assert "none found" in done.stdout
    assert "## readings: 4 rows" in done.stdout


def test_problems_can_fail(run, fixture_file):
    source = fixture_file("sqlite-profile/library.db")
    assert run(SCRIPT, source, "--fail-on-problems").returncode == 1


def test_one_table(run, fixture_file):
    source = fixture_file("sqlite-profile/library.db")
    done = run(SCRIPT, source, "--table", "Books")
    assert "## books: 8 rows" in done.stdout
    assert "## loans" not in done.stdout
    missing = run(SCRIPT, source, "--table", "nope")
    assert missing.returncode == 2
    assert "no such table: nope" in missing.stderr


def test_odd_names_and_keys(profile):
    data = profile(
        """
        CREATE TABLE "odd ""name|" ("a b" TEXT, n INTEGER PRIMARY KEY);
        INSERT INTO "odd ""name|" VALUES (NULL, 1), ('', 2), ('x', 3);
        CREATE TABLE pair (x INT, y INT, PRIMARY KEY (x, y));
        CREATE TABLE child (
            id INTEGER PRIMARY KEY REFERENCES "odd ""name|"(n), x INT, y INT, z INT REFERENCES gone,
            w INT REFERENCES pair(x), FOREIGN KEY (x, y) REFERENCES pair
        );
        CREATE INDEX child_yx ON child(y, x, id);
        INSERT INTO pair VALUES (1, 1), (1, 2);
        INSERT INTO child VALUES (1, 1, 1, 5, NULL), (2, 2, 2, 5, NULL), (3, 9, NULL, 5, NULL);
        """
    )
    assert sorted(data["problems"]) == [
        "1 orphaned rows: child(x, y) -> pair",
        "column never holds a value: child.w",
        "no index on foreign key child(w) -> pair",
        "no index on foreign key child(z) -> gone",
        "parent columns are not unique: child(w) -> pair",
        "parent table is missing: child(z) -> gone",
    ]
    odd = next(table for table in data["tables"] if table["name"].startswith("odd"))
    assert (odd["columns"][0]["nulls"], odd["columns"][0]["empty"]) == (1, 1)


def test_large_tables_are_cut_and_say_so(profile, run):
    data = profile(
        "CREATE TABLE t (id INTEGER PRIMARY KEY, v TEXT);"
        "WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 500)"
        "INSERT INTO t SELECT i, 'v' || i FROM n;",
        "--max-rows",
        "100",
    )
    (table,) = data["tables"]
    assert (table["rows"], table["profiled_rows"]) == (500, 100)
    assert table["columns"][1]["distinct"] == 100
    assert "first 100 rows only" in run(SCRIPT, "t.db", "--max-rows", "100").stdout


def test_views_and_empty_tables(profile):
    data = profile("CREATE TABLE t (id INTEGER PRIMARY KEY); CREATE VIEW v AS SELECT id FROM t;")
    assert data["views"] == ["v"]
    assert data["tables"][0]["columns"][0]["null_rate"] is None
    assert data["problems"] == []


@pytest.mark.parametrize(
    ("name", "content", "reason"),
    [
        ("x.db", b"", "is empty"),
        ("x.db", b"plain text", "is not a SQLite 3 database"),
        ("x.db", b"SQLite format 3\0" + b"\7" * 600, "x.db: "),
        ("x.sql", b"CREATE TABEL t;", "cannot be loaded as an SQLite dump"),
        ("x.sql", b"-- \xff", "not UTF-8"),
        ("x.sql", b"ATTACH 'stolen.db' AS s; CREATE TABLE s.t (a);", "not authorized"),
        ("x.sql", b"CREATE TABLE t (a); VACUUM INTO 'stolen.db';", "denied"),
    ],
    ids=lambda value: value if isinstance(value, str) else "input",
)
def test_bad_input_is_one_line(run, tmp_path, name, content, reason):
    (tmp_path / name).write_bytes(content)
    done = run(SCRIPT, name)
    assert done.returncode == 2
    assert reason in done.stderr
    assert len(done.stderr.splitlines()) == 1
    assert [path.name for path in tmp_path.iterdir()] == [name]


def test_missing_file_and_help(run, tmp_path):
    assert "No such file" in run(SCRIPT, "missing.db").stderr
    assert not (tmp_path / "missing.db").exists()
    assert run(SCRIPT, tmp_path).returncode == 2
    assert "--fail-on-problems" in run(SCRIPT, "--help").stdout
