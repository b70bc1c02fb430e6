"""The csv-tidy script, as a user meets it."""

from __future__ import annotations

import csv
import json
from pathlib import Path

import pytest

SCRIPT = "csv-tidy/tidy.py"


def rows_of(path, delimiter=","):
    with path.open(encoding="utf-8", newline="") as stream:
        return list(csv.reader(stream, delimiter=delimiter))


def test_windows_export_becomes_clean_utf8(run, fixture_file):
    source = fixture_file("csv-tidy/orders-export.csv")
    before = source.read_bytes()
    done = run(SCRIPT, source)
    assert done.returncode == 0, done.stderr
    assert "cp1252, semicolon delimited" in done.stdout
    assert "10 in, 6 out" in done.stdout
    assert "2 removed (records 6, 10)" in done.stdout
    assert "'Order-Date (UTC)' -> order_date_utc" in done.stdout
    rows = rows_of(source.with_name("orders-export.tidy.csv"))
    assert rows[0] == [
        "order_id",
        "customer_name",
        "order_date_utc",
        "unit_price",
        "discount_percent",
    ]
    assert rows[1] == ["1001", "Café Morgenröte", "2024-03-01", "12,50", "5"]
    assert rows[4][1] == 'Bäckerei "Süd"'
    assert len(rows) == 7
    assert source.read_bytes() == before


def test_ragged_tsv_stays_tab_delimited(run, fixture_file):
    source = fixture_file("csv-tidy/sensors.tsv")
    done = run(SCRIPT, source)
    assert done.returncode == 0
    assert "2 padded or widened (records 5, 7)" in done.stdout
    rows = rows_of(source.with_name("sensors.tidy.tsv"), "\t")
    assert rows[0] == ["sensor", "reading_time", "value", "value_2", "column_6"]
    assert {len(row) for row in rows} == {5}
    assert rows[-1] == ["t-03", "08:05", "22.0", "ok", "late"]


def test_dry_run_reports_json_and_writes_nothing(run, fixture_file):
    source = fixture_file("csv-tidy/signups.csv")
    done = run(SCRIPT, source, "--dry-run", "--json")
    (report,) = json.loads(done.stdout)
    assert report["output"] is None
    assert (report["rows_in"], report["rows_out"]) == (3, 2)
    assert report["renamed_headers"] == [["Email", "email_2"], ["signupDate", "signup_date"]]
    assert [path.name for path in source.parent.iterdir()] == ["signups.csv"]


def test_duplicates_and_names_can_stay(run, fixture_file):
    source = fixture_file("csv-tidy/orders-export.csv")
    done = run(SCRIPT, source, "--keep-duplicates", "--keep-header-names", "--output", "out.csv")
    assert done.returncode == 0
    rows = rows_of(source.with_name("out.csv"))
    assert len(rows) == 9
    assert rows[0][0] == "Order ID"


def test_clean_output_does_not_change_again(run, fixture_file):
    source = fixture_file("csv-tidy/orders-export.csv")
    run(SCRIPT, source)
    once = source.with_name("orders-export.tidy.csv")
    assert run(SCRIPT, once, "--output", "twice.csv").returncode == 0
    assert source.with_name("twice.csv").read_bytes() == once.read_bytes()


def test_no_header_keeps_the_first_row(run, tmp_path):
    (tmp_path / "data.csv").write_text("1,2\n1,2\n3,4\n", encoding="utf-8")
    assert run(SCRIPT, "data.csv", "--no-header").returncode == 0
    assert (tmp_path / "data.tidy.csv").read_text(encoding="utf-8") == "1,2\n3,4\n"


@pytest.mark.parametrize("encoding", ["utf-16", "utf-32", "utf-8-sig", "cp1252"])
def test_encodings_are_found(run, tmp_path, encoding):
    (tmp_path / "data.csv").write_bytes("Ort;Größe\nKöln;3\n".encode(encoding))
    assert run(SCRIPT, "data.csv").returncode == 0
    text = (tmp_path / "data.tidy.csv").read_text(encoding="utf-8")
    assert text == "ort,größe\nKöln,3\n"


def test_outputs_are_never_replaced_unasked(run, fixture_file):
    source = fixture_file("csv-tidy/signups.csv")
    output = source.with_name("signups.tidy.csv")
    output.write_text("mine", encoding="utf-8")
    done = run(SCRIPT, source)
    assert done.returncode == 2
    assert "exists; pass --force" in done.stderr
    assert output.read_text(encoding="utf-8") == "mine"
    assert run(SCRIPT, source, "--output", source).returncode == 2
    assert run(SCRIPT, source, "--force").returncode == 0
    assert run(SCRIPT, source, "--in-place").returncode == 0
    assert source.read_bytes() == output.read_bytes()
    assert sorted(path.name for path in source.parent.iterdir()) == [output.name, source.name][::-1]


@pytest.mark.parametrize(
    ("content", "reason"),
    [
        (b"PK\x03\x04\0\0binary", "binary"),
        (b"", "holds no rows"),
        (b"\n , \n", "holds no rows"),
        (b'a,b\n"' + b"x" * 17_000_000, "cannot be parsed"),
    ],
    ids=lambda value: value if isinstance(value, str) else "input",
)
def test_bad_input_is_one_line(run, tmp_path, content, reason):
    (tmp_path / "bad.csv").write_bytes(content)
    done = run(SCRIPT, "bad.csv")
    assert done.returncode == 2
    assert reason in done.stderr
    assert len(done.stderr.splitlines()) == 1
    assert [path.name for path in tmp_path.iterdir()] == ["bad.csv"]


def test_one_bad_file_does_not_stop_the_others(run, fixture_file):
    source = fixture_file("csv-tidy/revenue.csv")
    done = run(SCRIPT, "missing.csv", source, source.parent)
    assert done.returncode == 2
    assert "missing.csv: does not exist" in done.stderr
    assert "is not a regular file" in done.stderr
    assert "4 in, 4 out" in done.stdout
    assert Path(source.with_name("revenue.tidy.csv")).exists()


def test_wrong_encoding_and_usage(run, fixture_file):
    source = fixture_file("csv-tidy/orders-export.csv")
    assert "is not valid utf-8" in run(SCRIPT, source, "--encoding", "utf-8").stderr
    assert "unknown encoding" in run(SCRIPT, source, "--encoding", "klingon").stderr
    assert run(SCRIPT, source, source, "--output", "x.csv").returncode == 2
    assert run(SCRIPT).returncode == 2
    assert "--in-place" in run(SCRIPT, "--help").stdout
