"""The json-diff script, as a user meets it."""

from __future__ import annotations

import json

import pytest

SCRIPT = "json-diff/json_diff.py"


@pytest.fixture
def diff(run, tmp_path):
    """Compare two values; return the changes as (kind, path)."""

    def compare(old, new, *arguments):
        (tmp_path / "old.json").write_text(json.dumps(old), encoding="utf-8")
        (tmp_path / "new.json").write_text(json.dumps(new), encoding="utf-8")
        done = run(SCRIPT, "old.json", "new.json", "--json", *arguments)
        assert done.returncode in (0, 1), done.stderr
        data = json.loads(done.stdout)
        assert done.returncode == int(not data["equal"])
        return [(change["kind"], change["path"]) for change in data["changes"]]

    return compare


def test_configs(run, fixture_file):
    old, new = (fixture_file(f"json-diff/config-{name}.json") for name in ("old", "new"))
    done = run(SCRIPT, old, new)
    assert done.returncode == 1
    lines = done.stdout.splitlines()
    assert lines[0] == "10 differences: 3 added, 2 removed, 5 changed"
    assert '~ $.port: 8080 -> "8080"' in lines
    assert '+ $.features[0]: "audit"' in lines
    assert '- $.features[2]: "bulk-edit"' in lines
    assert "~ $.upstreams[name=stock].timeout: 2 -> 4" in lines
    assert "billing" not in done.stdout
    ignored = run(SCRIPT, old, new, "--ignore", "$.generated_at", "--ignore", "version")
    assert ignored.stdout.startswith("8 differences")


def test_matching_by_key(run, fixture_file):
    old, new = (fixture_file(f"json-diff/products-{name}.json") for name in "ab")
    assert run(SCRIPT, old, new).stdout.startswith("12 differences")
    for arguments in (("--key", "sku"), ("--key", "$.products=sku")):
        done = run(SCRIPT, old, new, *arguments, "--ignore", "$..etag")
        assert done.stdout.splitlines() == [
            "2 differences: 0 added, 0 removed, 2 changed",
            "~ $.products[sku=B-7].price: 24.5 -> 22.0",
            "~ $.products[sku=C-3].stock: 120 -> 118",
        ]


def test_formatting_is_no_difference(run, fixture_file):
    old, new = (fixture_file(f"json-diff/same-{name}.json") for name in "ab")
    done = run(SCRIPT, old, new)
    assert (done.returncode, done.stdout) == (0, "no differences\n")


@pytest.mark.parametrize(
    ("old", "new", "expected"),
    [
        (1, 1.0, []),
        (1, True, [("changed", "$")]),
        (None, {}, [("changed", "$")]),
        ({"a": None}, {}, [("removed", "$.a")]),
        ({"a b": 1}, {"a b": 2}, [("changed", '$["a b"]')]),
        ([1, 2, 3], [0, 1, 2, 3], [("added", "$[0]")]),
        ([{"id": 1}, {"id": 1}], [{"id": 1}], [("removed", "$[1]")]),
        (
            [{"id": 2, "v": 1}, {"id": 1}],
            [{"id": 1}, {"id": 2, "v": 3}],
            [("changed", "$[id=2].v")],
        ),
        ([{"id": "x y"}], [], [("removed", '$[id="x y"]')]),
    ],
)
def test_what_counts_as_equal(diff, old, new, expected):
    assert diff(old, new) == expected


@pytest.mark.parametrize(
    ("path", "left"),
    [
        ("$.a", ["$.ab", "$.list[id=1].t", "$.list[id=2].t"]),
        ("$.list[*].t", ["$.a.t", "$.ab"]),
        ("list[id=1]", ["$.a.t", "$.ab", "$.list[id=2].t"]),
        ("$..t", ["$.ab"]),
        ("$.*", []),
        ("$", []),
    ],
)
def test_ignored_paths(diff, path, left):
    old = {"a": {"t": 1}, "ab": 1, "list": [{"id": 1, "t": 1}, {"id": 2, "t": 1}]}
    new = {"a": {"t": 2}, "ab": 2, "list": [{"id": 1, "t": 2}, {"id": 2, "t": 2}]}
    assert [found for _, found in diff(old, new, "--ignore", path)] == left


def test_position_and_tolerance(diff):
    old, new = [{"id": 1}, {"id": 2}], [{"id": 2}, {"id": 1}]
    assert diff(old, new) == []
    assert len(diff(old, new, "--by-position")) == 2
    assert diff([0.1], [0.1000001], "--tolerance", "1e-6") == []
    assert len(diff([0.1], [0.2], "--tolerance", "1e-6")) == 1


def test_long_output_says_what_is_missing(run, tmp_path):
    (tmp_path / "a.json").write_text(json.dumps({f"k{i}": "x" * 500 for i in range(5)}))
    (tmp_path / "b.json").write_text("{}")
    done = run(SCRIPT, "a.json", "b.json", "--limit", "2")
    assert "3 more left out; show them with --limit or --json" in done.stdout
    assert "(502 characters, whole with --json)" in done.stdout


@pytest.mark.parametrize(
    ("content", "reason"),
    [
        (b'{"a": 1,}', "line 1 column 9"),
        (b"", "not JSON"),
        (b"\xff\xfe\0", "not UTF-8"),
        (b"[NaN]", "NaN is not allowed"),
        (b"[1e999]", "too large"),
        (b"[" * 100_000, "nested too deeply"),
    ],
    ids=lambda value: value if isinstance(value, str) else "input",
)
def test_bad_input_is_one_line(run, tmp_path, content, reason):
    (tmp_path / "bad.json").write_bytes(content)
    (tmp_path / "good.json").write_text("{}")
    done = run(SCRIPT, "good.json", "bad.json")
    assert done.returncode == 2
    assert "bad.json" in done.stderr
    assert reason in done.stderr
    assert len(done.stderr.splitlines()) == 1


def test_usage_errors(run, fixture_file):
    old, new = (fixture_file(f"json-diff/products-{name}.json") for name in "ab")
    assert "No such file" in run(SCRIPT, old, "missing.json").stderr
    assert "bad path" in run(SCRIPT, old, new, "--ignore", "$.a[x").stderr
    done = run(SCRIPT, old, new, "--key", "products=colour")
    assert done.returncode == 2
    assert "$.products cannot be matched by 'colour'" in done.stderr
    assert run(SCRIPT, old).returncode == 2
    assert "--ignore" in run(SCRIPT, "--help").stdout


def test_repeated_names_are_reported(run, tmp_path):
    (tmp_path / "a.json").write_text('{"x": 1, "x": 2}')
    (tmp_path / "b.json").write_text('{"x": 2}')
    done = run(SCRIPT, "a.json", "b.json")
    assert done.returncode == 0
    assert "repeated names, last one counts: x" in done.stderr
