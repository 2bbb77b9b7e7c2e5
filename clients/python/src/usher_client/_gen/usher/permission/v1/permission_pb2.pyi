from google.protobuf.internal import containers as _containers
from google.protobuf.internal import enum_type_wrapper as _enum_type_wrapper
from google.protobuf import descriptor as _descriptor
from google.protobuf import message as _message
from collections.abc import Iterable as _Iterable, Mapping as _Mapping
from typing import ClassVar as _ClassVar, Optional as _Optional, Union as _Union

DESCRIPTOR: _descriptor.FileDescriptor

class AccessLevel(int, metaclass=_enum_type_wrapper.EnumTypeWrapper):
    __slots__ = ()
    ACCESS_LEVEL_UNSPECIFIED: _ClassVar[AccessLevel]
    ACCESS_LEVEL_ALLOWED: _ClassVar[AccessLevel]
    ACCESS_LEVEL_VIEW: _ClassVar[AccessLevel]
    ACCESS_LEVEL_EDIT: _ClassVar[AccessLevel]

class DecisionSource(int, metaclass=_enum_type_wrapper.EnumTypeWrapper):
    __slots__ = ()
    DECISION_SOURCE_UNSPECIFIED: _ClassVar[DecisionSource]
    DECISION_SOURCE_ROLE: _ClassVar[DecisionSource]
    DECISION_SOURCE_OVERRIDE: _ClassVar[DecisionSource]
    DECISION_SOURCE_SUPERADMIN: _ClassVar[DecisionSource]
    DECISION_SOURCE_APP_ADMIN: _ClassVar[DecisionSource]

class PermissionType(int, metaclass=_enum_type_wrapper.EnumTypeWrapper):
    __slots__ = ()
    PERMISSION_TYPE_UNSPECIFIED: _ClassVar[PermissionType]
    PERMISSION_TYPE_BINARY: _ClassVar[PermissionType]
    PERMISSION_TYPE_TIERED: _ClassVar[PermissionType]

class Rule(int, metaclass=_enum_type_wrapper.EnumTypeWrapper):
    __slots__ = ()
    RULE_UNSPECIFIED: _ClassVar[Rule]
    RULE_INACTIVE: _ClassVar[Rule]
    RULE_SUPERADMIN: _ClassVar[Rule]
    RULE_APP_ADMIN: _ClassVar[Rule]
    RULE_OVERRIDE: _ClassVar[Rule]
    RULE_ROLES: _ClassVar[Rule]
    RULE_DEFAULT: _ClassVar[Rule]

class ResourceScope(int, metaclass=_enum_type_wrapper.EnumTypeWrapper):
    __slots__ = ()
    RESOURCE_SCOPE_UNSPECIFIED: _ClassVar[ResourceScope]
    RESOURCE_SCOPE_ONLY: _ClassVar[ResourceScope]
    RESOURCE_SCOPE_ALL_EXCEPT: _ClassVar[ResourceScope]
ACCESS_LEVEL_UNSPECIFIED: AccessLevel
ACCESS_LEVEL_ALLOWED: AccessLevel
ACCESS_LEVEL_VIEW: AccessLevel
ACCESS_LEVEL_EDIT: AccessLevel
DECISION_SOURCE_UNSPECIFIED: DecisionSource
DECISION_SOURCE_ROLE: DecisionSource
DECISION_SOURCE_OVERRIDE: DecisionSource
DECISION_SOURCE_SUPERADMIN: DecisionSource
DECISION_SOURCE_APP_ADMIN: DecisionSource
PERMISSION_TYPE_UNSPECIFIED: PermissionType
PERMISSION_TYPE_BINARY: PermissionType
PERMISSION_TYPE_TIERED: PermissionType
RULE_UNSPECIFIED: Rule
RULE_INACTIVE: Rule
RULE_SUPERADMIN: Rule
RULE_APP_ADMIN: Rule
RULE_OVERRIDE: Rule
RULE_ROLES: Rule
RULE_DEFAULT: Rule
RESOURCE_SCOPE_UNSPECIFIED: ResourceScope
RESOURCE_SCOPE_ONLY: ResourceScope
RESOURCE_SCOPE_ALL_EXCEPT: ResourceScope

class CheckRequest(_message.Message):
    __slots__ = ("email", "app", "permission", "resource_type", "resource_id", "access_level", "min_revision")
    EMAIL_FIELD_NUMBER: _ClassVar[int]
    APP_FIELD_NUMBER: _ClassVar[int]
    PERMISSION_FIELD_NUMBER: _ClassVar[int]
    RESOURCE_TYPE_FIELD_NUMBER: _ClassVar[int]
    RESOURCE_ID_FIELD_NUMBER: _ClassVar[int]
    ACCESS_LEVEL_FIELD_NUMBER: _ClassVar[int]
    MIN_REVISION_FIELD_NUMBER: _ClassVar[int]
    email: str
    app: str
    permission: str
    resource_type: str
    resource_id: str
    access_level: AccessLevel
    min_revision: str
    def __init__(self, email: _Optional[str] = ..., app: _Optional[str] = ..., permission: _Optional[str] = ..., resource_type: _Optional[str] = ..., resource_id: _Optional[str] = ..., access_level: _Optional[_Union[AccessLevel, str]] = ..., min_revision: _Optional[str] = ...) -> None: ...

class CheckResponse(_message.Message):
    __slots__ = ("allowed", "access_level", "source", "revision")
    ALLOWED_FIELD_NUMBER: _ClassVar[int]
    ACCESS_LEVEL_FIELD_NUMBER: _ClassVar[int]
    SOURCE_FIELD_NUMBER: _ClassVar[int]
    REVISION_FIELD_NUMBER: _ClassVar[int]
    allowed: bool
    access_level: AccessLevel
    source: DecisionSource
    revision: str
    def __init__(self, allowed: _Optional[bool] = ..., access_level: _Optional[_Union[AccessLevel, str]] = ..., source: _Optional[_Union[DecisionSource, str]] = ..., revision: _Optional[str] = ...) -> None: ...

class BulkCheckRequest(_message.Message):
    __slots__ = ("email", "app", "permissions", "resource_type", "resource_id", "access_level", "min_revision")
    EMAIL_FIELD_NUMBER: _ClassVar[int]
    APP_FIELD_NUMBER: _ClassVar[int]
    PERMISSIONS_FIELD_NUMBER: _ClassVar[int]
    RESOURCE_TYPE_FIELD_NUMBER: _ClassVar[int]
    RESOURCE_ID_FIELD_NUMBER: _ClassVar[int]
    ACCESS_LEVEL_FIELD_NUMBER: _ClassVar[int]
    MIN_REVISION_FIELD_NUMBER: _ClassVar[int]
    email: str
    app: str
    permissions: _containers.RepeatedScalarFieldContainer[str]
    resource_type: str
    resource_id: str
    access_level: AccessLevel
    min_revision: str
    def __init__(self, email: _Optional[str] = ..., app: _Optional[str] = ..., permissions: _Optional[_Iterable[str]] = ..., resource_type: _Optional[str] = ..., resource_id: _Optional[str] = ..., access_level: _Optional[_Union[AccessLevel, str]] = ..., min_revision: _Optional[str] = ...) -> None: ...

class BulkCheckResponse(_message.Message):
    __slots__ = ("results", "revision")
    RESULTS_FIELD_NUMBER: _ClassVar[int]
    REVISION_FIELD_NUMBER: _ClassVar[int]
    results: _containers.RepeatedCompositeFieldContainer[PermissionDecision]
    revision: str
    def __init__(self, results: _Optional[_Iterable[_Union[PermissionDecision, _Mapping]]] = ..., revision: _Optional[str] = ...) -> None: ...

class PermissionDecision(_message.Message):
    __slots__ = ("permission", "allowed", "access_level", "source")
    PERMISSION_FIELD_NUMBER: _ClassVar[int]
    ALLOWED_FIELD_NUMBER: _ClassVar[int]
    ACCESS_LEVEL_FIELD_NUMBER: _ClassVar[int]
    SOURCE_FIELD_NUMBER: _ClassVar[int]
    permission: str
    allowed: bool
    access_level: AccessLevel
    source: DecisionSource
    def __init__(self, permission: _Optional[str] = ..., allowed: _Optional[bool] = ..., access_level: _Optional[_Union[AccessLevel, str]] = ..., source: _Optional[_Union[DecisionSource, str]] = ...) -> None: ...

class EffectiveRequest(_message.Message):
    __slots__ = ("email", "app", "resource_type", "resource_id", "min_revision")
    EMAIL_FIELD_NUMBER: _ClassVar[int]
    APP_FIELD_NUMBER: _ClassVar[int]
    RESOURCE_TYPE_FIELD_NUMBER: _ClassVar[int]
    RESOURCE_ID_FIELD_NUMBER: _ClassVar[int]
    MIN_REVISION_FIELD_NUMBER: _ClassVar[int]
    email: str
    app: str
    resource_type: str
    resource_id: str
    min_revision: str
    def __init__(self, email: _Optional[str] = ..., app: _Optional[str] = ..., resource_type: _Optional[str] = ..., resource_id: _Optional[str] = ..., min_revision: _Optional[str] = ...) -> None: ...

class EffectiveResponse(_message.Message):
    __slots__ = ("permissions", "revision")
    PERMISSIONS_FIELD_NUMBER: _ClassVar[int]
    REVISION_FIELD_NUMBER: _ClassVar[int]
    permissions: _containers.RepeatedCompositeFieldContainer[EffectivePermission]
    revision: str
    def __init__(self, permissions: _Optional[_Iterable[_Union[EffectivePermission, _Mapping]]] = ..., revision: _Optional[str] = ...) -> None: ...

class EffectivePermission(_message.Message):
    __slots__ = ("code", "type", "group_name", "access_level", "granted", "source")
    CODE_FIELD_NUMBER: _ClassVar[int]
    TYPE_FIELD_NUMBER: _ClassVar[int]
    GROUP_NAME_FIELD_NUMBER: _ClassVar[int]
    GLOBAL_FIELD_NUMBER: _ClassVar[int]
    ACCESS_LEVEL_FIELD_NUMBER: _ClassVar[int]
    GRANTED_FIELD_NUMBER: _ClassVar[int]
    SOURCE_FIELD_NUMBER: _ClassVar[int]
    code: str
    type: PermissionType
    group_name: str
    access_level: AccessLevel
    granted: bool
    source: DecisionSource
    def __init__(self, code: _Optional[str] = ..., type: _Optional[_Union[PermissionType, str]] = ..., group_name: _Optional[str] = ..., access_level: _Optional[_Union[AccessLevel, str]] = ..., granted: _Optional[bool] = ..., source: _Optional[_Union[DecisionSource, str]] = ..., **kwargs) -> None: ...

class BatchCheckRequest(_message.Message):
    __slots__ = ("checks", "min_revision")
    CHECKS_FIELD_NUMBER: _ClassVar[int]
    MIN_REVISION_FIELD_NUMBER: _ClassVar[int]
    checks: _containers.RepeatedCompositeFieldContainer[CheckRequest]
    min_revision: str
    def __init__(self, checks: _Optional[_Iterable[_Union[CheckRequest, _Mapping]]] = ..., min_revision: _Optional[str] = ...) -> None: ...

class BatchCheckResponse(_message.Message):
    __slots__ = ("results", "revision")
    RESULTS_FIELD_NUMBER: _ClassVar[int]
    REVISION_FIELD_NUMBER: _ClassVar[int]
    results: _containers.RepeatedCompositeFieldContainer[CheckResult]
    revision: str
    def __init__(self, results: _Optional[_Iterable[_Union[CheckResult, _Mapping]]] = ..., revision: _Optional[str] = ...) -> None: ...

class CheckResult(_message.Message):
    __slots__ = ("allowed", "access_level", "source")
    ALLOWED_FIELD_NUMBER: _ClassVar[int]
    ACCESS_LEVEL_FIELD_NUMBER: _ClassVar[int]
    SOURCE_FIELD_NUMBER: _ClassVar[int]
    allowed: bool
    access_level: AccessLevel
    source: DecisionSource
    def __init__(self, allowed: _Optional[bool] = ..., access_level: _Optional[_Union[AccessLevel, str]] = ..., source: _Optional[_Union[DecisionSource, str]] = ...) -> None: ...

class ExplainRequest(_message.Message):
    __slots__ = ("check",)
    CHECK_FIELD_NUMBER: _ClassVar[int]
    check: CheckRequest
    def __init__(self, check: _Optional[_Union[CheckRequest, _Mapping]] = ...) -> None: ...

class ExplainResponse(_message.Message):
    __slots__ = ("allowed", "access_level", "source", "revision", "rules", "user_known", "application_known", "permission_known")
    ALLOWED_FIELD_NUMBER: _ClassVar[int]
    ACCESS_LEVEL_FIELD_NUMBER: _ClassVar[int]
    SOURCE_FIELD_NUMBER: _ClassVar[int]
    REVISION_FIELD_NUMBER: _ClassVar[int]
    RULES_FIELD_NUMBER: _ClassVar[int]
    USER_KNOWN_FIELD_NUMBER: _ClassVar[int]
    APPLICATION_KNOWN_FIELD_NUMBER: _ClassVar[int]
    PERMISSION_KNOWN_FIELD_NUMBER: _ClassVar[int]
    allowed: bool
    access_level: AccessLevel
    source: DecisionSource
    revision: str
    rules: _containers.RepeatedCompositeFieldContainer[RuleOutcome]
    user_known: bool
    application_known: bool
    permission_known: bool
    def __init__(self, allowed: _Optional[bool] = ..., access_level: _Optional[_Union[AccessLevel, str]] = ..., source: _Optional[_Union[DecisionSource, str]] = ..., revision: _Optional[str] = ..., rules: _Optional[_Iterable[_Union[RuleOutcome, _Mapping]]] = ..., user_known: _Optional[bool] = ..., application_known: _Optional[bool] = ..., permission_known: _Optional[bool] = ...) -> None: ...

class RuleOutcome(_message.Message):
    __slots__ = ("rule", "applies", "decides", "access_level", "override_granted", "roles")
    RULE_FIELD_NUMBER: _ClassVar[int]
    APPLIES_FIELD_NUMBER: _ClassVar[int]
    DECIDES_FIELD_NUMBER: _ClassVar[int]
    ACCESS_LEVEL_FIELD_NUMBER: _ClassVar[int]
    OVERRIDE_GRANTED_FIELD_NUMBER: _ClassVar[int]
    ROLES_FIELD_NUMBER: _ClassVar[int]
    rule: Rule
    applies: bool
    decides: bool
    access_level: AccessLevel
    override_granted: bool
    roles: _containers.RepeatedCompositeFieldContainer[RoleOutcome]
    def __init__(self, rule: _Optional[_Union[Rule, str]] = ..., applies: _Optional[bool] = ..., decides: _Optional[bool] = ..., access_level: _Optional[_Union[AccessLevel, str]] = ..., override_granted: _Optional[bool] = ..., roles: _Optional[_Iterable[_Union[RoleOutcome, _Mapping]]] = ...) -> None: ...

class RoleOutcome(_message.Message):
    __slots__ = ("role", "access_level")
    ROLE_FIELD_NUMBER: _ClassVar[int]
    ACCESS_LEVEL_FIELD_NUMBER: _ClassVar[int]
    role: str
    access_level: AccessLevel
    def __init__(self, role: _Optional[str] = ..., access_level: _Optional[_Union[AccessLevel, str]] = ...) -> None: ...

class ListSubjectsRequest(_message.Message):
    __slots__ = ("app", "permission", "resource_type", "resource_id", "access_level", "min_revision", "page_size", "page_token")
    APP_FIELD_NUMBER: _ClassVar[int]
    PERMISSION_FIELD_NUMBER: _ClassVar[int]
    RESOURCE_TYPE_FIELD_NUMBER: _ClassVar[int]
    RESOURCE_ID_FIELD_NUMBER: _ClassVar[int]
    ACCESS_LEVEL_FIELD_NUMBER: _ClassVar[int]
    MIN_REVISION_FIELD_NUMBER: _ClassVar[int]
    PAGE_SIZE_FIELD_NUMBER: _ClassVar[int]
    PAGE_TOKEN_FIELD_NUMBER: _ClassVar[int]
    app: str
    permission: str
    resource_type: str
    resource_id: str
    access_level: AccessLevel
    min_revision: str
    page_size: int
    page_token: str
    def __init__(self, app: _Optional[str] = ..., permission: _Optional[str] = ..., resource_type: _Optional[str] = ..., resource_id: _Optional[str] = ..., access_level: _Optional[_Union[AccessLevel, str]] = ..., min_revision: _Optional[str] = ..., page_size: _Optional[int] = ..., page_token: _Optional[str] = ...) -> None: ...

class ListSubjectsResponse(_message.Message):
    __slots__ = ("subjects", "next_page_token", "revision")
    SUBJECTS_FIELD_NUMBER: _ClassVar[int]
    NEXT_PAGE_TOKEN_FIELD_NUMBER: _ClassVar[int]
    REVISION_FIELD_NUMBER: _ClassVar[int]
    subjects: _containers.RepeatedCompositeFieldContainer[Subject]
    next_page_token: str
    revision: str
    def __init__(self, subjects: _Optional[_Iterable[_Union[Subject, _Mapping]]] = ..., next_page_token: _Optional[str] = ..., revision: _Optional[str] = ...) -> None: ...

class Subject(_message.Message):
    __slots__ = ("email", "access_level", "source")
    EMAIL_FIELD_NUMBER: _ClassVar[int]
    ACCESS_LEVEL_FIELD_NUMBER: _ClassVar[int]
    SOURCE_FIELD_NUMBER: _ClassVar[int]
    email: str
    access_level: AccessLevel
    source: DecisionSource
    def __init__(self, email: _Optional[str] = ..., access_level: _Optional[_Union[AccessLevel, str]] = ..., source: _Optional[_Union[DecisionSource, str]] = ...) -> None: ...

class ListResourcesRequest(_message.Message):
    __slots__ = ("email", "app", "permission", "resource_type", "access_level", "min_revision", "page_size", "page_token")
    EMAIL_FIELD_NUMBER: _ClassVar[int]
    APP_FIELD_NUMBER: _ClassVar[int]
    PERMISSION_FIELD_NUMBER: _ClassVar[int]
    RESOURCE_TYPE_FIELD_NUMBER: _ClassVar[int]
    ACCESS_LEVEL_FIELD_NUMBER: _ClassVar[int]
    MIN_REVISION_FIELD_NUMBER: _ClassVar[int]
    PAGE_SIZE_FIELD_NUMBER: _ClassVar[int]
    PAGE_TOKEN_FIELD_NUMBER: _ClassVar[int]
    email: str
    app: str
    permission: str
    resource_type: str
    access_level: AccessLevel
    min_revision: str
    page_size: int
    page_token: str
    def __init__(self, email: _Optional[str] = ..., app: _Optional[str] = ..., permission: _Optional[str] = ..., resource_type: _Optional[str] = ..., access_level: _Optional[_Union[AccessLevel, str]] = ..., min_revision: _Optional[str] = ..., page_size: _Optional[int] = ..., page_token: _Optional[str] = ...) -> None: ...

class ListResourcesResponse(_message.Message):
    __slots__ = ("scope", "resource_ids", "next_page_token", "revision")
    SCOPE_FIELD_NUMBER: _ClassVar[int]
    RESOURCE_IDS_FIELD_NUMBER: _ClassVar[int]
    NEXT_PAGE_TOKEN_FIELD_NUMBER: _ClassVar[int]
    REVISION_FIELD_NUMBER: _ClassVar[int]
    scope: ResourceScope
    resource_ids: _containers.RepeatedScalarFieldContainer[str]
    next_page_token: str
    revision: str
    def __init__(self, scope: _Optional[_Union[ResourceScope, str]] = ..., resource_ids: _Optional[_Iterable[str]] = ..., next_page_token: _Optional[str] = ..., revision: _Optional[str] = ...) -> None: ...

class WatchRequest(_message.Message):
    __slots__ = ("apps", "since_revision")
    APPS_FIELD_NUMBER: _ClassVar[int]
    SINCE_REVISION_FIELD_NUMBER: _ClassVar[int]
    apps: _containers.RepeatedScalarFieldContainer[str]
    since_revision: str
    def __init__(self, apps: _Optional[_Iterable[str]] = ..., since_revision: _Optional[str] = ...) -> None: ...

class WatchResponse(_message.Message):
    __slots__ = ("revision", "changes", "reset")
    REVISION_FIELD_NUMBER: _ClassVar[int]
    CHANGES_FIELD_NUMBER: _ClassVar[int]
    RESET_FIELD_NUMBER: _ClassVar[int]
    revision: str
    changes: _containers.RepeatedCompositeFieldContainer[Change]
    reset: bool
    def __init__(self, revision: _Optional[str] = ..., changes: _Optional[_Iterable[_Union[Change, _Mapping]]] = ..., reset: _Optional[bool] = ...) -> None: ...

class Change(_message.Message):
    __slots__ = ("application", "member", "user", "everything_in_application", "everything")
    APPLICATION_FIELD_NUMBER: _ClassVar[int]
    MEMBER_FIELD_NUMBER: _ClassVar[int]
    USER_FIELD_NUMBER: _ClassVar[int]
    EVERYTHING_IN_APPLICATION_FIELD_NUMBER: _ClassVar[int]
    EVERYTHING_FIELD_NUMBER: _ClassVar[int]
    application: str
    member: Member
    user: str
    everything_in_application: str
    everything: bool
    def __init__(self, application: _Optional[str] = ..., member: _Optional[_Union[Member, _Mapping]] = ..., user: _Optional[str] = ..., everything_in_application: _Optional[str] = ..., everything: _Optional[bool] = ...) -> None: ...

class Member(_message.Message):
    __slots__ = ("email", "app")
    EMAIL_FIELD_NUMBER: _ClassVar[int]
    APP_FIELD_NUMBER: _ClassVar[int]
    email: str
    app: str
    def __init__(self, email: _Optional[str] = ..., app: _Optional[str] = ...) -> None: ...
