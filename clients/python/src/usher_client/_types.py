"""What callers ask, and what they are answered."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

from ._read import strictly_made

Level = Literal["allowed", "view", "edit"]
"""What is held of a permission: `allowed` of a binary one, `view` or `edit` of a tiered one."""

AskedLevel = Literal["view", "edit"]

Source = Literal["role", "override", "superadmin", "app_admin"]
"""Which rule granted, or denied."""

Resource = tuple[str, str]
"""One record of an application: its type and its identifier."""


@strictly_made
@dataclass(frozen=True, slots=True)
class Question:
    """One of a batch. Read when it is asked."""

    email: str
    app: str
    permission: str
    resource: Resource | None = None
    level: AskedLevel | None = None
    """The least level that will do; without it, any."""


@dataclass(frozen=True, slots=True)
class Decision:
    allowed: bool
    level: Level | None
    """The level held; None for nothing."""
    source: Source | None
    """None where no rule granted."""
    revision: str
    """The revision that the answer is true of."""

    def __bool__(self) -> bool:
        """Whether it is allowed, so that `if usher.check(...)` cannot be taken for yes."""
        return self.allowed


@dataclass(frozen=True, slots=True)
class Held:
    """A permission that an application defines, and what somebody holds of it."""

    permission: str
    allowed: bool
    level: Level | None
    source: Source | None
    tiered: bool
    is_global: bool
    group: str | None


@dataclass(frozen=True, slots=True)
class Effective:
    permissions: Sequence[Held]
    revision: str


@dataclass(frozen=True, slots=True)
class RuleResult:
    """What one of the six rules makes of a question."""

    rule: int
    """1 to 6, in the order in which they count."""
    applies: bool
    decides: bool
    level: Level | None


@dataclass(frozen=True, slots=True)
class Explanation:
    decision: Decision
    rules: Sequence[RuleResult]
    user_known: bool
    application_known: bool
    permission_known: bool


@dataclass(frozen=True, slots=True)
class Allowed:
    """Somebody who may."""

    email: str
    level: Level | None
    source: Source | None


@dataclass(frozen=True, slots=True)
class Reach:
    """Which records: `only` those, or `all` but those."""

    scope: Literal["only", "all"]
    resource_ids: Sequence[str]
    revision: str


@dataclass(frozen=True, slots=True)
class Change:
    """Whose decisions may be others now."""

    kind: Literal["application", "everything_in_application", "member", "user", "everything"]
    app: str | None = None
    email: str | None = None


@dataclass(frozen=True, slots=True)
class Changes:
    revision: str
    """Everything up to this revision has been told."""
    changes: Sequence[Change]
    reset: bool
    """Forget what you hold, and go on from `revision`."""
