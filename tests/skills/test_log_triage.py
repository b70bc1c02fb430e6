"""The log-triage script, as a user meets it."""

from __future__ import annotations

import gzip
import json

import pytest

SCRIPT = "log-triage/triage.py"


def triage(run, *arguments):
    done = run(SCRIPT, *arguments, "--json")
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout)


def test_application_log(run, fixture_file):
    done = run(SCRIPT, fixture_file("log-triage/app.log"))
    assert done.returncode == 0
    first = done.stdout.splitlines()[0]
    assert first.startswith("18 events at level error or above, 3 signatures")
    assert "#1  14x ERROR  db connection to <ip> timed out after <n> ms" in done.stdout
    assert "#2  3x ERROR  worker job <n> failed [KeyError]" in done.stdout
    assert "| KeyError: 9002" in done.stdout
    assert "app.log:7" in done.stdout
    assert "2024-05-14T10:02:00Z       9  ####" in done.stdout


def test_compressed_access_log(run, fixture_file):
    data = triage(run, fixture_file("log-triage/access.log.gz"))
    (group,) = data["groups"]
    assert group["signature"] == "HTTP GET /api/orders 503"
    assert group["count"] == 9
    assert (group["first"], group["last"]) == ("2024-05-14T10:01:12Z", "2024-05-14T10:02:48Z")


def test_json_lines_are_converted_to_utc(run, fixture_file):
    data = triage(run, fixture_file("log-triage/sync.jsonl"))
    assert [(g["count"], g["signature"]) for g in data["groups"]] == [
        (3, "upload of <hex> rejected with status 413"),
        (1, "quota service unreachable"),
    ]
    assert data["groups"][0]["first"] == "2024-05-14T20:15:03Z"


def test_several_files_and_warnings(run, fixture_file):
    app, access = fixture_file("log-triage/app.log"), fixture_file("log-triage/access.log.gz")
    data = triage(run, app, access, "--level", "warning")
    assert data["matched"] == 33
    assert data["signatures"] == 6
    assert sum(row["count"] for row in data["histogram"]) == 33


def test_syslog_and_nginx(run, tmp_path):
    (tmp_path / "sys.log").write_text(
        "May  3 09:15:00 host app[77]: error: disk /dev/sda1/x is full\n"
        "May  3 09:16:00 host app[78]: error: disk /dev/sdb1/x is full\n"
        "2024/05/03 09:17:00 [error] 31#31: upstream timed out\n",
        encoding="utf-8",
    )
    data = triage(run, "sys.log", "--year", "2024")
    assert [group["count"] for group in data["groups"]] == [2, 1]
    assert data["groups"][0]["last"] == "2024-05-03T09:16:00Z"


def test_since_top_and_ceiling(run, fixture_file, tmp_path):
    app = fixture_file("log-triage/app.log")
    assert triage(run, app, "--since", "2024-05-14T10:06:00")["matched"] == 1
    done = run(SCRIPT, app, "--top", "1")
    assert "2 more signatures left out; show them with --top" in done.stdout
    lines = [f"ERROR fault{letter}\n" for letter in "abcdefgh"]
    (tmp_path / "many.log").write_text("".join(lines), encoding="utf-8")
    data = triage(run, "many.log", "--max-signatures", "3")
    assert data["groups"][0]["signature"] == "(more signatures than the limit)"
    assert data["groups"][0]["count"] == 5
    assert data["untimed"] == 8


def test_long_span_widens_the_buckets(run, tmp_path):
    lines = [
        f"2024-01-{day:02d}T{hour:02d}:00:00 ERROR x\n" for day in range(1, 29) for hour in (1, 7)
    ]
    (tmp_path / "long.log").write_text("".join(lines), encoding="utf-8")
    data = triage(run, "long.log")
    assert data["bucket_seconds"] == 86_400
    assert len(data["histogram"]) == 28


def test_terminal_codes_are_not_passed_on(run, tmp_path):
    (tmp_path / "c.log").write_bytes(b"\x1b[31mERROR\x1b[0m bad \x07bell \xff\n")
    done = run(SCRIPT, "c.log")
    assert "\x1b" not in done.stdout
    assert "\x07" not in done.stdout
    assert "1x ERROR  bad bell" in done.stdout


def test_no_errors_is_success(run, tmp_path):
    (tmp_path / "quiet.log").write_text("INFO fine\nplain text\n", encoding="utf-8")
    done = run(SCRIPT, "quiet.log")
    assert done.returncode == 0
    assert "0 events at level error or above" in done.stdout
    assert "levels: info 1, none 1" in done.stdout


@pytest.mark.parametrize(
    ("content", "reason"),
    [(b"ELF\0\0\0", "binary file"), (gzip.compress(b"ERROR x\n" * 999)[:30], "damaged gzip")],
    ids=["binary", "cut-gzip"],
)
def test_bad_input_is_one_line(run, tmp_path, content, reason):
    (tmp_path / "bad.log").write_bytes(content)
    done = run(SCRIPT, "bad.log")
    assert done.returncode == 2
    assert reason in done.stderr
    assert len(done.stderr.splitlines()) == 1


def test_missing_file_beside_a_good_one(run, fixture_file):
    done = run(SCRIPT, "missing.log", fixture_file("log-triage/app.log"))
    assert done.returncode == 2
    assert "missing.log: does not exist" in done.stderr
    assert "18 events" in done.stdout
    assert run(SCRIPT, "missing.log").stdout == ""
    assert run(SCRIPT, "x.log", "--top", "0").returncode == 2
    assert "--since" in run(SCRIPT, "--help").stdout
