"""Recordings: what was answered is answered again, and what was not is explained."""

from __future__ import annotations

import asyncio
import json
import os
import subprocess
import sys
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from models.fake_api import REQUEST, FakeApi, error, message, reply, streamed, text, tool_use

from skilleval.errors import ExitCode, Failure, InputError, ModelError
from skilleval.models import recordings
from skilleval.models.api import Api
from skilleval.models.endpoint import Answers, Endpoint
from skilleval.models.messages import Event, OnEvent, Reply, Request, read_reply
from skilleval.models.recordings import Recorder, Replay, open_recording, start_recording
from skilleval.models.settings import Model
from skilleval.models.streams import events_of
from skilleval.models.tiers import TIERS
from skilleval.redaction import hide

patient = settings(deadline=None, suppress_health_check=[HealthCheck.too_slow])

MODEL = Model("m", TIERS[0])


class Says:
    """Answers from a list, round and round."""

    def __init__(self, *answers: dict[str, Any] | ModelError) -> None:
        self.model = MODEL
        self.answers = list(answers)

    async def answer(
        self, request: Request, *, deadline: float | None = None, on_event: OnEvent | None = None
    ) -> Reply:
        answer = self.answers.pop(0)
        self.answers.append(answer)
        if isinstance(answer, ModelError):
            raise answer
        return read_reply(answer)

    async def count_tokens(self, request: Request) -> int:
        return 42


@pytest.fixture
def folder(tmp_path: Path) -> str:
    return start_recording(str(tmp_path / "recording"))


def record(folder: str, *answers: dict[str, Any] | ModelError, request: Request = REQUEST) -> None:
    recorder = Recorder(Says(*answers), folder)
    for _ in answers:
        try:
            asyncio.run(recorder.answer(request))
        except ModelError:
            pass


def ask(answers: Answers, request: Request = REQUEST, on_event: OnEvent | None = None) -> Reply:
    return asyncio.run(answers.answer(request, on_event=on_event))


def miss(folder: str, request: Request = REQUEST) -> str:
    with pytest.raises(ModelError) as caught:
        ask(Replay(MODEL, folder), request)
    assert caught.value.failure is Failure.NOT_RECORDED
    assert caught.value.exit_code == ExitCode.USAGE
    assert "--record" in caught.value.remedy
    return caught.value.message


def exchanges(folder: str) -> list[Path]:
    return sorted(path for path in Path(folder).iterdir() if path.name != "recording.json")


# Again


def test_what_was_answered_is_answered_again(folder: str) -> None:
    whole = message("Hello", tool_use(a=1), stop_reason="tool_use")
    record(folder, whole)
    found = ask(Replay(MODEL, folder))
    assert found.raw == whole
    assert found.cost == pytest.approx(MODEL.tier.cost(found.usage))
    assert found.seconds == 0


def test_the_stream_is_answered_again(folder: str) -> None:
    record(folder, message("x" * 900))
    seen: list[Event] = []
    ask(Replay(MODEL, folder), on_event=seen.append)
    assert seen == list(events_of(message("x" * 900)))


def test_the_same_request_gets_its_answers_in_turn(folder: str) -> None:
    record(folder, message("1"), message("2"))
    record(folder, message("3"))
    replay = Replay(MODEL, folder)
    assert [ask(replay).text for _ in range(5)] == ["1", "2", "3", "1", "2"]
    assert ask(Replay(MODEL, folder)).text == "1"


def test_many_at_once_get_each_answer_once(folder: str) -> None:
    record(folder, *(message(str(number)) for number in range(20)))
    replay = Replay(MODEL, folder)

    async def run() -> list[Reply]:
        return await asyncio.gather(*(replay.answer(REQUEST) for _ in range(20)))

    assert sorted(int(found.text) for found in asyncio.run(run())) == list(range(20))


def test_who_asks_and_how_it_is_sent_does_not_count(folder: str) -> None:
    record(folder, message(), request={**REQUEST, "metadata": {"user_id": "a"}})
    assert ask(Replay(MODEL, folder)).text == "Hello"
    backwards = dict(reversed([*REQUEST.items(), ("metadata", {"user_id": "b"})]))
    assert ask(Replay(MODEL, folder), backwards).text == "Hello"


def test_betas_count(folder: str) -> None:
    record(folder, message(), request={**REQUEST, "betas": ["context-1m-2025-08-07"]})
    assert "betas" in miss(folder)


def test_counts_are_kept_apart_from_answers(folder: str) -> None:
    recorder = Recorder(Says(message()), folder)
    assert asyncio.run(recorder.count_tokens(REQUEST)) == 42
    assert asyncio.run(Replay(MODEL, folder).count_tokens(REQUEST)) == 42
    assert "nothing like it was recorded" in miss(folder)


@pytest.mark.parametrize("failure", [Failure.INVALID_REQUEST, Failure.TOO_LONG])
def test_errors_that_would_come_again_are_recorded(folder: str, failure: Failure) -> None:
    record(folder, ModelError(failure, "no!", status=400))
    with pytest.raises(ModelError) as caught:
        ask(Replay(MODEL, folder))
    assert (caught.value.failure, caught.value.message) == (failure, "no!")
    assert caught.value.status == 400


@pytest.mark.parametrize("failure", [Failure.OVERLOADED, Failure.AUTHENTICATION, Failure.DEADLINE])
def test_errors_of_the_moment_are_not(folder: str, failure: Failure) -> None:
    record(folder, ModelError(failure, "no!"))
    assert exchanges(folder) == []


def test_half_characters_survive(folder: str) -> None:
    record(folder, message("a \ud83d b"), request={**REQUEST, "system": "\udce9"})
    assert ask(Replay(MODEL, folder), {**REQUEST, "system": "\udce9"}).text == "a \ud83d b"


def test_what_may_come_may_be_recorded_and_read(folder: str) -> None:
    deep: Any = 1
    for _ in range(95):
        deep = [deep]
    again = [*REQUEST["messages"], {"role": "assistant", "content": [tool_use(a=deep)]}]
    request = {**REQUEST, "messages": again}
    record(folder, message(tool_use(a=deep)), request=request)
    assert ask(Replay(MODEL, folder), request).tool_calls == [tool_use(a=deep)]
    assert miss(folder)


def test_over_real_sockets_no_key_is_kept(folder: str, monkeypatch: pytest.MonkeyPatch) -> None:
    key = "own-key-0123456789"
    monkeypatch.setenv("SKILLEVAL_KEY", key)
    request = {**REQUEST, "system": f"The key is {key}."}
    said = message(f"You said {key}.", tool_use(**{key: [key]}))

    async def run() -> None:
        async with FakeApi(
            reply(said), streamed(said), reply(error("x", f"bad {key}"), 400), reply({})
        ) as fake:
            model = replace(MODEL, base_url=fake.url, key_env="SKILLEVAL_KEY")
            api = Api(model)
            recorder = Recorder(Endpoint(model, api), folder)
            assert (await recorder.answer(request)).text == f"You said {key}."
            await recorder.answer(request, on_event=lambda event: None)
            with pytest.raises(ModelError):
                await recorder.answer(request)
            await api.close()

    asyncio.run(run())
    assert len(exchanges(folder)) == 3
    for path in exchanges(folder):
        assert key not in path.read_text() + path.name
    replay = Replay(MODEL, folder)
    assert ask(replay, request).text == "You said [redacted]."


# What was not recorded


def test_the_nearest_request_is_shown_with_the_difference(folder: str) -> None:
    base = {**REQUEST, "system": "You are " + "very " * 50 + "helpful."}
    record(folder, message(), request={**REQUEST, "system": "Another."})
    record(folder, message(), request=base)
    said = miss(folder, {**base, "max_tokens": 99})
    name = next(path.name for path in exchanges(folder) if "very" in path.read_text())
    assert f"the nearest, {name}, differs in max_tokens (recorded 100, asked 99)" in said
    said = miss(folder, {**base, "system": base["system"].replace("helpful", "useful")})
    assert 'system (recorded …very very very very helpful."' in said
    assert 'asked …very very very very useful."' in said


def test_the_nearest_has_the_most_messages_in_common(folder: str) -> None:
    turns = [{"role": "user", "content": str(number)} for number in range(6)]
    for length in (1, 3, 5):
        record(folder, message(), request={**REQUEST, "messages": turns[:length]})
    said = miss(folder, {**REQUEST, "messages": [*turns[:3], {"role": "user", "content": "new"}]})
    assert "messages[3]" in said
    assert 'recorded nothing, asked {"role": "user", "content": "new"}' in said or (
        'content (recorded "3", asked "new")' in said
    )


def test_few_differences_are_shown_and_short_ones(folder: str) -> None:
    turns = [{"role": "user", "content": "a" * 9_000} for _ in range(30)]
    record(folder, message(), request={**REQUEST, "messages": turns})
    said = miss(folder, {**REQUEST, "messages": [{**turn, "content": "b"} for turn in turns]})
    assert said.count("recorded ") == 5
    assert len(said) < 1_500


def test_an_empty_recording_has_nothing_near(folder: str) -> None:
    assert "nothing like it was recorded" in miss(folder)


def test_a_later_answer_alone_is_none(folder: str) -> None:
    record(folder, message("1"), message("2"))
    first, second = exchanges(folder)
    first.unlink()
    assert miss(folder)
    assert second.exists()


def test_a_gap_ends_the_turns(folder: str) -> None:
    record(folder, message("1"), message("2"), message("3"))
    exchanges(folder)[1].unlink()
    replay = Replay(MODEL, folder)
    assert [ask(replay).text for _ in range(2)] == ["1", "1"]


def test_a_renamed_exchange_is_named(folder: str) -> None:
    record(folder, message())
    exchanges(folder)[0].rename(Path(folder) / f"{'0' * 32}-0.json")
    assert "it was renamed" in miss(folder)


plain = st.recursive(
    st.none() | st.booleans() | st.integers(-2, 2) | st.sampled_from([0.0, 1.0, "", "a", "b"]),
    lambda inner: (
        st.lists(inner, max_size=3) | st.dictionaries(st.sampled_from("abc"), inner, max_size=3)
    ),
    max_leaves=8,
)


@patient
@given(plain, plain)
def test_differences_are_none_just_where_the_json_is_the_same(one: Any, other: Any) -> None:
    same = json.dumps(one, sort_keys=True) == json.dumps(other, sort_keys=True)
    assert (not list(recordings._differences(one, other, "request"))) == same
    assert not list(recordings._differences(one, json.loads(json.dumps(one)), "request"))


def test_true_is_not_one(folder: str) -> None:
    record(folder, message(), request={**REQUEST, "messages": [*REQUEST["messages"], 1]})
    said = miss(folder, {**REQUEST, "messages": [*REQUEST["messages"], True]})
    assert "messages[1] (recorded 1, asked true)" in said


# Folders that are none


def test_recording_goes_on_where_it_stopped(tmp_path: Path) -> None:
    folder = start_recording(str(tmp_path / "a" / "b"))
    record(folder, message("1"))
    assert start_recording(folder) == folder
    record(folder, message("2"))
    assert len(exchanges(folder)) == 2


def test_an_empty_folder_becomes_a_recording(tmp_path: Path) -> None:
    (tmp_path / ".skilleval-0123").touch()  # somebody begins at the same moment
    start_recording(str(tmp_path))
    assert json.loads((tmp_path / "recording.json").read_text())["version"] == 1


def refused(open_: Any, folder: object, *words: str) -> None:
    with pytest.raises(InputError) as caught:
        open_(str(folder))
    assert caught.value.exit_code == ExitCode.USAGE
    assert all(word in caught.value.message for word in (str(folder), *words))
    assert "\n" not in caught.value.message
    assert len(caught.value.message) < 400
    assert caught.value.remedy


def test_no_folder(tmp_path: Path) -> None:
    refused(open_recording, tmp_path / "none", "no such folder")
    refused(open_recording, tmp_path, "no recording.json")
    (tmp_path / "file").write_text("x")
    refused(open_recording, tmp_path / "file", "it is a file")
    refused(start_recording, tmp_path / "file")
    refused(start_recording, tmp_path / "file" / "deeper")


def test_a_folder_with_something_else_is_left_alone(tmp_path: Path) -> None:
    (tmp_path / "thesis.txt").write_text("x")
    refused(start_recording, tmp_path, "no recording.json")
    assert os.listdir(tmp_path) == ["thesis.txt"]


@pytest.mark.parametrize("version", [0, 2, "1", None, "x" * 10_000])
def test_another_version(tmp_path: Path, version: object) -> None:
    head = {"skilleval": "recording", "version": version}
    (tmp_path / "recording.json").write_text(json.dumps(head))
    for open_ in (open_recording, start_recording):
        refused(open_, tmp_path, "version", "reads version 1")


HEADS = [b"", b"{", b"[]", b"null", b'{"version": 1}', b"\xff\xfe", b"[" * 100_000, b"NaN"]


@pytest.mark.parametrize("head", HEADS)
def test_a_head_that_is_none(tmp_path: Path, head: bytes) -> None:
    (tmp_path / "recording.json").write_bytes(head)
    for open_ in (open_recording, start_recording):
        refused(open_, tmp_path, "recording.json")


def test_pipes_and_folders_do_not_block(folder: str) -> None:
    record(folder, message())
    path = exchanges(folder)[0]
    path.unlink()
    os.mkfifo(path)
    with pytest.raises(InputError, match="pipe"):
        ask(Replay(MODEL, folder))
    assert "nothing like it" in miss(folder, {**REQUEST, "max_tokens": 1})
    head = Path(folder) / "recording.json"
    head.unlink()
    os.mkfifo(head)
    refused(open_recording, folder, "pipe")
    head.unlink()
    head.mkdir()
    refused(open_recording, folder, "is a folder")


CORRUPT: dict[str, object] = {
    "nothing": b"",
    "half": b'{"message": {',
    "no object": [],
    "no message": {"request": {}},
    "a text": {"message": "Hello"},
    "a broken message": {"message": message(content=[7])},
    "deep": b"[" * 100_000,
    "no number": b'{"message": NaN}',
    "an error that is none": {"error": "x"},
    "an unknown error": {"error": {"failure": "bad luck", "message": "x"}},
    "an error of no kind": {"error": {"failure": ["x"]}},
}


@pytest.mark.parametrize("content", CORRUPT.values(), ids=list(CORRUPT))
def test_a_corrupt_exchange_is_one_clear_error(folder: str, content: object) -> None:
    record(folder, message())
    path = exchanges(folder)[0]
    path.write_bytes(content if isinstance(content, bytes) else json.dumps(content).encode())
    with pytest.raises(InputError) as caught:
        ask(Replay(MODEL, folder))
    assert str(path) in caught.value.message
    assert caught.value.remedy == "Record it again."


@pytest.mark.parametrize("tokens", [None, "7", [], 1.5])
def test_a_corrupt_count_is_one_clear_error(folder: str, tokens: object) -> None:
    asyncio.run(Recorder(Says(message()), folder).count_tokens(REQUEST))
    exchanges(folder)[0].write_text(json.dumps({"tokens": tokens}))
    with pytest.raises(InputError, match="count of tokens"):
        asyncio.run(Replay(MODEL, folder).count_tokens(REQUEST))


@pytest.mark.parametrize("usage", [None, [], "x", {"output_tokens": "y"}, {"output_tokens": -1}])
def test_odd_usage_is_replayed_with_its_stream(folder: str, usage: object) -> None:
    record(folder, message(usage=usage))
    found = ask(Replay(MODEL, folder), on_event=lambda event: None)
    assert found.cost is None


@pytest.mark.parametrize("odd", [None, 7, [], "x", {"messages": 7}, {"messages": {"a": 1}}])
def test_odd_exchanges_are_passed_over_when_looking_for_the_nearest(
    folder: str, odd: object
) -> None:
    if isinstance(odd, dict):
        odd = {"kind": "messages", "model": [], **odd}
    (Path(folder) / "0-0.json").write_text(json.dumps({"request": odd}))
    (Path(folder) / "1-0.json").write_text("{")
    (Path(folder) / "2-0.json").symlink_to("nowhere")
    record(folder, message())
    assert "max_tokens (recorded 100, asked 1)" in miss(folder, {**REQUEST, "max_tokens": 1})


def test_an_error_shows_no_key(folder: str) -> None:
    record(folder, ModelError(Failure.INVALID_REQUEST, "x"))
    path = exchanges(folder)[0]
    path.write_text(path.read_text().replace('"message": "x"', '"message": "key sk-ant-api03-abc"'))
    with pytest.raises(ModelError, match=r"key \[redacted\]"):
        ask(Replay(MODEL, folder))
    hide("hidden-value")
    path.write_text(json.dumps({"request": {"kind": "messages", "system": "hidden-value"}}))
    assert "hidden-value" not in miss(folder, {**REQUEST, "max_tokens": 1})


def test_looking_for_the_nearest_ends(folder: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(recordings, "_LOOKED_THROUGH", 2_000)
    for number in range(9):
        record(folder, message(), request={**REQUEST, "system": f"{number}" * 500})
    read: list[str] = []
    was = recordings._read
    monkeypatch.setattr(recordings, "_read", lambda path: (read.append(path), was(path))[1])
    assert "the nearest" in miss(folder)
    assert len(read) < 3


# Disks that do not want to


def test_a_folder_that_can_not_be_written(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    folder = start_recording(str(tmp_path / "recording"))
    monkeypatch.setattr(os, "access", lambda path, mode: False)  # root may write everywhere
    refused(start_recording, folder, "not writable")


def test_a_full_disk_is_one_clear_error(folder: str, monkeypatch: pytest.MonkeyPatch) -> None:
    def full(handle: int) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(os, "fsync", full)
    with pytest.raises(InputError, match="No space left") as caught:
        asyncio.run(Recorder(Says(message()), folder).answer(REQUEST))
    assert folder in caught.value.message
    assert os.listdir(folder) == ["recording.json"]


def test_a_folder_that_vanishes(folder: str) -> None:
    Path(folder, "recording.json").unlink()
    Path(folder).rmdir()
    with pytest.raises(InputError, match="can't record"):
        asyncio.run(Recorder(Says(message()), folder).answer(REQUEST))


PROGRAM = """
import asyncio, sys
sys.path[:0] = [sys.argv[1]]
from models.test_recordings import REQUEST, Says, message
from skilleval.models.recordings import Recorder, start_recording
async def main():
    recorder = Recorder(Says(message(sys.argv[3])), start_recording(sys.argv[2]))
    await asyncio.gather(*(recorder.answer(REQUEST) for _ in range(20)))
asyncio.run(main())
"""


def test_two_processes_record_into_one_folder(tmp_path: Path) -> None:
    folder = str(tmp_path / "shared")
    tests = str(Path(__file__).parents[1])
    running = [
        subprocess.Popen([sys.executable, "-c", PROGRAM, tests, folder, name]) for name in "ab"
    ]
    assert [process.wait() for process in running] == [0, 0]
    assert len(exchanges(folder)) == 40
    replay = Replay(MODEL, folder)
    assert sorted(ask(replay).text for _ in range(40)) == ["a"] * 20 + ["b"] * 20


def test_no_name_leads_out_of_the_folder(folder: str) -> None:
    for name in ("../../x", "/etc/passwd", "a\0b", "x" * 5_000):
        request = {**REQUEST, "model": name, "system": [text(name)]}
        record(folder, message(), request=request)
        assert ask(Replay(MODEL, folder), request).text == "Hello"
    assert all(len(path.name) == 32 + len("-0.json") for path in exchanges(folder))


@pytest.fixture(autouse=True)
def _left_nothing(tmp_path: Path) -> Iterator[None]:
    yield
    assert not list(tmp_path.rglob(".skilleval-[0-9a-f]*[0-9a-f][0-9a-f][0-9a-f][0-9a-f][0-9a-f]"))
