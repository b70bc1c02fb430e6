"""Our listing beside that of the real Claude Code client, character for character.

The client is installed from npm and talks to a fake Messages API on loopback.
"""

from __future__ import annotations

import random
from pathlib import Path

import pytest
from conftest import write_files
from integration.kit import Api, listing_in, run_client

from skilleval.models.tiers import find_tier
from skilleval.prompt.catalog import build_listing
from skilleval.prompt.listing import budget
from skilleval.skill import Skill, discover

pytestmark = [pytest.mark.slow, pytest.mark.xdist_group("client")]  # installs it once


@pytest.mark.parametrize("model", ["claude-haiku-4-5", "claude-sonnet-5-5"])
@pytest.mark.parametrize("count", [1, 5, 40, 100, 300])
def test_the_listing_is_that_of_the_client(
    client: str, api: Api, corpus: Path, tmp_path: Path, count: int, model: str
) -> None:
    project = tmp_path / "project"
    install(corpus, project / ".claude" / "skills", count)
    run_client(client, api, project, model)
    assert listing_in(api) == ours(model, project / ".claude" / "skills")


def test_plugins_doubles_and_other_names_are_listed_as_the_client_does(
    client: str, api: Api, tmp_path: Path
) -> None:
    plugins = write_files(tmp_path, PLUGINS)
    project = write_files(
        tmp_path / "project",
        {f".claude/skills/{folder}/SKILL.md": text for folder, text in SKILLS.items()},
    )
    folders = [str(plugins / name) for name in ("second", "first", "third")]
    options = [word for folder in folders for word in ("--plugin-dir", folder)]
    run_client(client, api, project, "claude-haiku-4-5", *options)
    assert listing_in(api) == ours("claude-haiku-4-5", project / ".claude" / "skills", *folders)


def skill(name: str, *lines: str) -> str:
    return "\n".join(("---", f"name: {name}", f"description: Does {name}.", *lines, "---", "Body"))


SKILLS = {
    "zz": skill("zz"), "zz b": skill("b"), "zz_a": skill("zz_a"), "zz-10": skill("zz-10"),
    "zz-9": skill("zz-9"), "ZZ-B": skill("ZZ-B"), "zz.c": skill("zz.c"), "zz+c": skill("zz+c"),
    "zz~c": skill("zz~c"), "zzb": skill("zzb"), "_u": skill("_u"), "01": skill("01"),
    "aa": skill("aa"), "éa": skill("éa"), "ä": skill("ä"),
    "技": skill("技"), "one": skill("two"), "two": skill("one"), "same-a": skill("same"),
    "same-b": skill("same"), "to-hidden": skill("hidden"), "to-alias": skill("alias"),
    "hidden": skill("alias", "disable-model-invocation: true"), "number": skill("1.50"),
    "waits": skill("waits-name", "paths: src/**"), "to-waits": skill("waits"),
    "spaces": skill("'  padded '"), "odd": skill("odd name"),
}  # fmt: skip
PLUGINS = {
    "first/.claude-plugin/plugin.json": '{"name": "office", "version": "1.0.0"}',
    "first/skills/folder/SKILL.md": skill("name"),
    "first/skills/double/SKILL.md": skill("double"),
    "first/skills/prefixed/SKILL.md": skill("office:other"),
    "first/skills/prefixed-same/SKILL.md": skill("office:prefixed-same"),
    "first/skills/foreign/SKILL.md": skill("kit:foreign-name"),
    "first/skills/spaces/SKILL.md": skill("spaces inside"),
    "first/skills/Upper/SKILL.md": skill("Upper"),
    "second/.claude-plugin/plugin.json": '{"name": "zebra", "version": "1.0.0"}',
    "second/skills/double/SKILL.md": skill("double", "when_to_use: For zebras."),
    "second/skills/j1/SKILL.md": skill("j"),
    "second/skills/j2/SKILL.md": skill("j"),
    "third/.claude-plugin/plugin.json": '{"name": "office", "version": "2.0.0"}',
    "third/skills/double/SKILL.md": skill("double", "when_to_use: Never, the first counts."),
    "third/skills/new/SKILL.md": skill("new"),
}


def install(corpus: Path, folder: Path, count: int) -> None:
    """Some skills of the corpus, each name once (its SKILL.md only: the rest is not listed)."""
    found = [Skill(found) for found in discover([str(corpus)]).skills]
    random.Random(count).shuffle(found)
    names: set[str] = set()
    for skill in found:
        if skill.has_text and skill.folder_name.lower() not in names and len(names) < count:
            names.add(skill.folder_name.lower())
            (folder / skill.folder_name).mkdir(parents=True)
            (folder / skill.folder_name / "SKILL.md").write_bytes(skill.document.data)


def ours(model: str, *folders: str | Path) -> str:
    tier = find_tier(model)
    skills = [Skill(found) for found in discover([str(folder) for folder in folders]).skills]
    room = budget(tier.context_window, tier.characters_per_token)
    return build_listing(skills, budget=room).text
