"""What makes a finding the same one after the file around it has changed."""

from __future__ import annotations

import hashlib
import os
import re
from collections import Counter
from collections.abc import Iterable

from skilleval.lint.model import Finding

__all__ = ["fingerprints"]

_NUMBER = re.compile(r"\d[\d,.]*")


def fingerprints(findings: Iterable[Finding], base: str = ".") -> list[str]:
    """A stable name for each finding, in their order, with paths counted from a folder.

    It is made of the rule, the file, and the text of the line (the message without its
    numbers where there is no line), so that it survives lines that come or go above it. The
    second of two that are alike gets another name than the first.
    """
    seen: Counter[str] = Counter()
    names = []
    for finding in findings:
        text = finding.excerpt.strip() or _NUMBER.sub("#", finding.message)
        path = finding.path if base == "." else os.path.relpath(finding.path, base)
        key = "\0".join((finding.rule, path, " ".join(text.split())))
        seen[key] += 1
        name = f"{key}\0{seen[key]}"
        names.append(hashlib.sha256(name.encode("utf-8", "surrogatepass")).hexdigest()[:24])
    return names
