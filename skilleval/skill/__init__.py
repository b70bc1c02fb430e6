"""Reading skill folders as they really are: discovery, SKILL.md, and the files beside it."""

from skilleval.skill.discovery import Catalog, Discovery, Entry, Found, discover
from skilleval.skill.document import Document, Position, Span
from skilleval.skill.frontmatter import Field, Frontmatter, State, read_frontmatter
from skilleval.skill.markdown import Markdown
from skilleval.skill.reading import Skill, Trouble, TroubleKind

__all__ = [
    "Catalog",
    "Discovery",
    "Document",
    "Entry",
    "Field",
    "Found",
    "Frontmatter",
    "Markdown",
    "Position",
    "Skill",
    "Span",
    "State",
    "Trouble",
    "TroubleKind",
    "discover",
    "read_frontmatter",
]
