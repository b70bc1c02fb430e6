"""What a hook is told at each event, what it may answer, and what comes of it.

This table is the contract. The runtime follows it, and `docs/hooks.md` is written from it, so
that neither can say something else than the other. The contract is our own. Names of events,
fields and answers are those of Claude Code, so that hooks written for it work here.
"""

from __future__ import annotations

from skilleval.harness.hooks.events import Contract, Field, HookEvent, Power

__all__ = ["EVENTS", "PROMPT_SECONDS"]

PROMPT_SECONDS = 30.0
"""What a model prompt gets where its hook sets no time-out of its own, if its event grants more."""

_TALK = (Power.STOP, Power.MESSAGE)
_TOOL = (
    Field("tool_name", "the tool"),
    Field("tool_input", "its input"),
)
_CALL = (*_TOOL, Field("tool_use_id", "the call"))
_TOOK = Field("duration_ms", "how long the tool ran", needed=False)
_TASK = (
    Field("task_id", "the task"),
    Field("task_subject", "its title"),
    Field("task_description", "what is to be done", needed=False),
)
_STOPPING = (
    Field("stop_hook_active", "true when it goes on only because a hook denied the last stop"),
    Field("last_assistant_message", "the text of the last answer"),
    Field("background_tasks", "what still runs in the background", False, []),
    Field("session_crons", "what is planned for later", False, []),
)


def _powers(*powers: Power) -> frozenset[Power]:
    return frozenset((*_TALK, *powers))


EVENTS: dict[HookEvent, Contract] = {
    HookEvent.SESSION_START: Contract(
        when="A session starts, goes on after a break, or begins anew after a compaction.",
        fields=(
            Field("source", "why it starts"),
            Field("model", "the model, where it is known", needed=False),
        ),
        powers=_powers(Power.CONTEXT),
        subject="source",
        values="`startup`, `resume`, `clear`, `compact`",
        text_is_context=True,
    ),
    HookEvent.SETUP: Contract(
        when="A workspace is prepared, before its first session.",
        fields=(Field("trigger", "what asked for it"),),
        powers=_powers(Power.CONTEXT),
        subject="trigger",
        values="`init`, `maintenance`",
    ),
    HookEvent.USER_PROMPT_SUBMIT: Contract(
        when="A prompt was given, and the model has not seen it yet.",
        fields=(Field("prompt", "the prompt as it was given"),),
        powers=_powers(Power.BLOCK, Power.CONTEXT),
        denial="the prompt never reaches the model",
        timeout=30.0,
        mode=True,
        text_is_context=True,
    ),
    HookEvent.USER_PROMPT_EXPANSION: Contract(
        when="A prompt calls a skill or command by its name, which is about to be expanded.",
        fields=(
            Field("expansion_type", "`slash_command`"),
            Field("command_name", "the skill or command"),
            Field("command_args", "what stood behind its name"),
            Field("command_source", "where it comes from"),
            Field("prompt", "the prompt as it was given"),
        ),
        powers=_powers(Power.BLOCK, Power.CONTEXT),
        subject="command_name",
        values="names of skills and commands",
        denial="nothing is expanded, and the prompt never reaches the model",
        timeout=30.0,
        mode=True,
    ),
    HookEvent.PRE_TOOL_USE: Contract(
        when="The model has called a tool with valid input; no permission rule was asked yet.",
        fields=_CALL,
        powers=_powers(Power.PERMISSION, Power.BLOCK, Power.INPUT, Power.CONTEXT),
        subject="tool_name",
        values="names of tools",
        denial="the tool does not run, in any permission mode, and the model gets the reason",
        mode=True,
    ),
    HookEvent.PERMISSION_REQUEST: Contract(
        when="Rules and mode have left a tool call open, and somebody has to decide.",
        fields=(
            *_TOOL,
            Field("permission_suggestions", "rules that would settle it", False, []),
        ),
        powers=_powers(Power.REQUEST, Power.BLOCK, Power.INPUT),
        subject="tool_name",
        values="names of tools",
        denial="the tool does not run, and the model gets the reason",
        mode=True,
    ),
    HookEvent.PERMISSION_DENIED: Contract(
        when="A tool call was denied without anybody having been asked.",
        fields=(*_CALL, Field("reason", "why it was denied")),
        powers=_powers(Power.RETRY),
        subject="tool_name",
        values="names of tools",
        told=False,
        mode=True,
    ),
    HookEvent.POST_TOOL_USE: Contract(
        when="A tool has run and succeeded; the model has not seen its result yet.",
        fields=(*_CALL, Field("tool_response", "its result"), _TOOK),
        powers=_powers(Power.BLOCK, Power.CONTEXT, Power.OUTPUT),
        subject="tool_name",
        values="names of tools",
        denial="what the tool did is not undone; the model gets the reason with the result",
        mode=True,
    ),
    HookEvent.POST_TOOL_USE_FAILURE: Contract(
        when="A tool has run and failed; the model has not seen the error yet.",
        fields=(
            *_CALL,
            Field("error", "the error"),
            Field("is_interrupt", "true when it was interrupted", needed=False),
            _TOOK,
        ),
        powers=_powers(Power.BLOCK, Power.CONTEXT),
        subject="tool_name",
        values="names of tools",
        denial="the model gets the reason with the error",
        mode=True,
    ),
    HookEvent.POST_TOOL_BATCH: Contract(
        when="All tool calls of one answer are settled, and the next request is not sent yet.",
        fields=(
            Field(
                "tool_calls",
                "the calls, each with `tool_name`, `tool_input`, `tool_use_id`, `tool_response`",
            ),
        ),
        powers=_powers(Power.BLOCK, Power.CONTEXT),
        denial="the next request is not sent; the turn ends with the reason",
        mode=True,
    ),
    HookEvent.STOP: Contract(
        when="The model has answered without calling a tool, and its turn would end.",
        fields=_STOPPING,
        powers=_powers(Power.BLOCK, Power.CONTEXT),
        denial="the turn goes on, with the reason as the next message to the model",
        mode=True,
    ),
    HookEvent.STOP_FAILURE: Contract(
        when="The turn ends because the model could not be had.",
        fields=(
            Field("error", "the kind of error"),
            Field("error_details", "more about it", needed=False),
            Field("last_assistant_message", "the text of the last answer", needed=False),
        ),
        powers=frozenset(),
        subject="error",
        values="kinds of errors, such as `rate_limit`, `overloaded`, `server_error`",
        told=False,
        timeout=30.0,
    ),
    HookEvent.NOTIFICATION: Contract(
        when="The user is notified of something: here, that somebody is asked for a permission.",
        fields=(
            Field("message", "the text"),
            Field("notification_type", "its kind"),
            Field("title", "its title", needed=False),
        ),
        powers=_powers(),
        subject="notification_type",
        values="`permission_prompt`; nobody waits, logs in or fills in forms here, so that "
        "`idle_prompt`, `auth_success` and `elicitation_dialog` never come",
        timeout=30.0,
    ),
    HookEvent.SUBAGENT_START: Contract(
        when="A subagent is about to get its first prompt.",
        fields=(Field("agent_id", "the subagent"), Field("agent_type", "its type")),
        powers=_powers(Power.CONTEXT),
        subject="agent_type",
        values="types of agents",
    ),
    HookEvent.SUBAGENT_STOP: Contract(
        when="A subagent has answered without calling a tool, and would end.",
        fields=(
            Field("agent_id", "the subagent"),
            Field("agent_type", "its type"),
            Field("agent_transcript_path", "where its transcript is written"),
            *_STOPPING,
        ),
        powers=_powers(Power.BLOCK, Power.CONTEXT),
        subject="agent_type",
        values="types of agents",
        denial="the subagent goes on, with the reason as its next message",
        mode=True,
    ),
    HookEvent.TASK_CREATED: Contract(
        when="A task is about to be put on the task list.",
        fields=_TASK,
        powers=_powers(Power.BLOCK),
        denial="the task is not put on the list, and the model gets the reason",
        mode=True,
    ),
    HookEvent.TASK_COMPLETED: Contract(
        when="A task is about to be marked as done.",
        fields=_TASK,
        powers=_powers(Power.BLOCK),
        denial="the task stays open, and the model gets the reason",
        mode=True,
    ),
    HookEvent.INSTRUCTIONS_LOADED: Contract(
        when="A file of instructions was put before the model.",
        fields=(
            Field("file_path", "the file"),
            Field("memory_type", "whose it is: `User`, `Project`, `Local`, `Managed`"),
            Field("load_reason", "why it was loaded"),
            Field("globs", "the patterns that asked for it", needed=False),
            Field("trigger_file_path", "the file whose reading asked for it", needed=False),
            Field("parent_file_path", "the file that includes it", needed=False),
        ),
        powers=frozenset(),
        subject="load_reason",
        values="`session_start`, `nested_traversal`, `path_glob_match`, `include`, `compact`",
        told=False,
        timeout=30.0,
    ),
    HookEvent.CONFIG_CHANGE: Contract(
        when="A settings file that the session was given has changed and would be read again; "
        "that is looked for when all tool calls of an answer are settled.",
        fields=(
            Field("source", "which settings"),
            Field("file_path", "the file", needed=False),
        ),
        powers=_powers(Power.BLOCK),
        subject="source",
        values="`user_settings` (in `~/.claude`), `local_settings` (`settings.local.json`), "
        "`policy_settings` (`managed-settings.json`), `project_settings` (any other file); "
        "`skills` never comes, since skills are not read again",
        denial="the session keeps the settings that it has",
        timeout=30.0,
    ),
    HookEvent.CWD_CHANGED: Contract(
        when="The working directory of the session has changed.",
        fields=(
            Field("old_cwd", "the one before"),
            Field("new_cwd", "the one now"),
        ),
        powers=_powers(),
        timeout=30.0,
    ),
    HookEvent.FILE_CHANGED: Contract(
        when="A watched file was changed, made or removed, by a tool or by anybody else; that is "
        "looked for when all tool calls of an answer are settled.",
        fields=(
            Field("file_path", "the file"),
            Field("event", "`change`, `add`, `unlink`"),
        ),
        powers=_powers(),
        subject="file_path",
        values="names of files without their folders, always literal, `|` between them; these are "
        "watched in the folder that the session works in. A hook without a matcher has none "
        "watched, and is called for those of other hooks",
        timeout=30.0,
    ),
    HookEvent.PRE_COMPACT: Contract(
        when="The context is about to be compacted.",
        fields=(
            Field("trigger", "who asked for it"),
            Field("custom_instructions", "what the summary should keep, or null"),
        ),
        powers=_powers(Power.BLOCK),
        subject="trigger",
        values="`manual`, `auto`",
        denial="the context stays as it is",
    ),
    HookEvent.POST_COMPACT: Contract(
        when="The context was compacted.",
        fields=(
            Field("trigger", "who asked for it"),
            Field("compact_summary", "the summary"),
        ),
        powers=_powers(),
        subject="trigger",
        values="`manual`, `auto`",
    ),
    HookEvent.SESSION_END: Contract(
        when="The session ends.",
        fields=(Field("reason", "why"),),
        powers=frozenset({Power.MESSAGE}),
        subject="reason",
        values="`clear`, `resume`, `logout`, `prompt_input_exit`, `other`",
        timeout=10.0,
    ),
}
