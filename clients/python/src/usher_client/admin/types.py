"""What the methods of the administration take and answer, as JSON has it. Made by test/gateway/write-python-admin.ts from the routes of the gateway: do not edit."""

from __future__ import annotations

from typing import Any, Literal

from typing_extensions import NotRequired, TypeAlias, TypedDict


class ErrorBodyDetailsIssuesItem(TypedDict):
    path: str
    message: str


class ErrorBodyDetails(TypedDict):
    code: NotRequired[Literal["VALIDATION_FAILED", "UNKNOWN_LANGUAGES", "INCOMPLETE_RESOURCE", "UNKNOWN_RESOURCE_TYPE", "INVALID_ACCESS_LEVEL", "GLOBAL_PERMISSION", "UNKNOWN_REFERENCE", "MISSING_VARIABLES", "IMMUTABLE_FIELD", "UNKNOWN_REVISION", "UNKNOWN_CODE", "UNBOUNDED", "EMAIL_NOT_VERIFIED", "SIGNATURE_INVALID", "SIGNATURE_EXPIRED", "USER_INACTIVE", "PREFERENCE_LOCKED", "NO_APPLICATION_LEVEL", "KEY_SCOPE", "IDENTITY_CONFLICT", "ORGANIZATION_NOT_ADMITTED", "BROWSER_NOT_ALLOWED", "NO_LIST_ENDPOINT", "ALREADY_EXISTS", "ENTITY_IN_USE", "BRAND_IN_USE", "LANGUAGE_IN_USE", "TYPE_IN_USE", "LAST_SUPERADMIN", "IDEMPOTENCY_KEY_REUSED", "ENDPOINT_TAKEN", "TARGET_NOT_EMPTY", "ORGANIZATION_CONFIGURED", "RECONCILIATION_BRAKED", "RECONCILIATION_RUNNING", "SYSTEM_RECORD", "LIST_CHANGED", "UPGRADE_UNFINISHED", "STALE", "RULES_VERSION", "UNKNOWN_ORGANIZATION", "IDP_UNREACHABLE", "IDP_REJECTED", "LIST_ENDPOINT_FAILED", "SMTP_FAILED", "IDP_NOT_CONFIGURED", "PANEL_NOT_BUILT", "OUTCOME_UNKNOWN"]]
    issues: NotRequired[list[ErrorBodyDetailsIssuesItem]]
    more: NotRequired[int]


class ErrorBody(TypedDict):
    """The body of every error. Branch on `code`, or on `details.code` where there is one."""

    success: Literal[False]
    code: Literal["BAD_REQUEST", "UNAUTHENTICATED", "FORBIDDEN", "NOT_FOUND", "METHOD_NOT_ALLOWED", "CONFLICT", "PRECONDITION_FAILED", "PAYLOAD_TOO_LARGE", "UNSUPPORTED_MEDIA_TYPE", "UNPROCESSABLE", "RATE_LIMITED", "INTERNAL", "UPSTREAM_FAILED", "UNAVAILABLE"]
    message: str
    details: NotRequired[ErrorBodyDetails]
    requestId: str


class CheckQuestion(TypedDict):
    email: str
    app: str
    permission: str
    resourceType: NotRequired[str | None]
    resourceId: NotRequired[str | None]
    accessLevel: NotRequired[Literal["view", "edit"] | None]


class BulkQuestion(TypedDict):
    email: str
    app: str
    permissions: list[str]
    resourceType: NotRequired[str | None]
    resourceId: NotRequired[str | None]
    accessLevel: NotRequired[Literal["view", "edit"] | None]


class EffectiveQuestion(TypedDict):
    email: str
    app: str
    resourceType: NotRequired[str | None]
    resourceId: NotRequired[str | None]


EffectivePermission = TypedDict(
    "EffectivePermission",
    {
        "code": "str",
        "type": "Literal['binary', 'tiered']",
        "groupName": "str | None",
        "global": "bool",
        "accessLevel": "Literal['allowed', 'view', 'edit'] | None",
        "granted": "bool",
        "source": "Literal['role', 'override', 'superadmin', 'app_admin'] | None",
    },
)


class CheckResult(TypedDict):
    allowed: bool
    accessLevel: Literal["allowed", "view", "edit"] | None
    source: Literal["role", "override", "superadmin", "app_admin"] | None


class ExplanationKnown(TypedDict):
    """Whether the address has a record, the application exists, and it defines the permission."""

    user: bool
    application: bool
    permission: bool


class Explanation(TypedDict):
    allowed: bool
    accessLevel: Literal["allowed", "view", "edit"] | None
    source: Literal["role", "override", "superadmin", "app_admin"] | None
    rule: int
    rules: list[RuleResult]
    known: ExplanationKnown


class RuleResultOverride(TypedDict):
    granted: bool
    accessLevel: Literal["allowed", "view", "edit"] | None


class RuleResultRolesItem(TypedDict):
    code: str
    accessLevel: Literal["allowed", "view", "edit"] | None


class RuleResult(TypedDict):
    rule: int
    name: Literal["inactive", "superadmin", "app_admin", "override", "roles", "default"]
    applies: bool
    decides: bool
    accessLevel: Literal["allowed", "view", "edit"] | None
    override: NotRequired[RuleResultOverride | None]
    roles: NotRequired[list[RuleResultRolesItem]]


class MyCheckQuestion(TypedDict):
    app: str
    permission: str
    resourceType: NotRequired[str | None]
    resourceId: NotRequired[str | None]
    accessLevel: NotRequired[Literal["view", "edit"] | None]


MyEffectivePermission = TypedDict(
    "MyEffectivePermission",
    {
        "code": "str",
        "type": "Literal['binary', 'tiered']",
        "groupName": "str | None",
        "global": "bool",
        "accessLevel": "Literal['allowed', 'view', 'edit'] | None",
        "granted": "bool",
        "source": "Literal['role', 'override', 'superadmin', 'app_admin', 'none']",
    },
)


class MyCheckResult(TypedDict):
    allowed: bool
    accessLevel: Literal["allowed", "view", "edit"] | None
    source: Literal["role", "override", "superadmin", "app_admin", "none"]


class Profile(TypedDict):
    id: int
    email: str
    firstName: str | None
    lastName: str | None
    displayName: str | None
    avatarUrl: str | None
    locale: str | None
    theme: Literal["light", "dark", "system"]
    timezone: str | None
    brand: str
    identityProfileUrl: str | None
    createdAt: str
    updatedAt: str


class ApplicationPreferences(TypedDict):
    applicationCode: str
    showHelp: bool
    notificationsEnabled: bool


class Recorded(TypedDict):
    recorded: bool


class ApplicationEvent(TypedDict):
    id: int
    event: Literal["login", "logout"]
    actor: str
    at: str


class ListedApplicationCounts(TypedDict):
    """How much the application holds. `people` are its users; of very many the number may be some seconds old."""

    people: int
    roles: int
    permissions: int
    admins: int


class ListedApplication(TypedDict):
    id: int
    code: str
    name: str
    description: str | None
    supportedLanguages: list[str]
    strictCodes: bool
    tellEndings: bool
    createdAt: str
    updatedAt: str
    counts: ListedApplicationCounts


class Application(TypedDict):
    id: int
    code: str
    name: str
    description: str | None
    supportedLanguages: list[str]
    strictCodes: bool
    tellEndings: bool
    createdAt: str
    updatedAt: str


ImpactChangesItem = TypedDict(
    "ImpactChangesItem",
    {
        "email": "str",
        "app": "str",
        "permission": "str",
        "resourceType": "str | None",
        "resourceId": "str | None",
        "from": "Literal['allowed', 'view', 'edit'] | None",
        "to": "Literal['allowed', 'view', 'edit'] | None",
    },
)


class Impact(TypedDict):
    revision: str
    people: int
    gained: int
    lost: int
    changes: list[ImpactChangesItem]
    truncated: bool
    nextBoundary: str | None
    everywhere: NotRequired[Literal["gains", "loses"] | None]


class AllowedSubject(TypedDict):
    email: str
    accessLevel: Literal["allowed", "view", "edit"]
    source: Literal["role", "override", "superadmin", "app_admin"]


class Entity(TypedDict):
    id: int
    code: str
    name: str
    description: str | None
    idLabel: str | None
    listEndpoint: str | None
    listSearch: bool
    createdAt: str
    updatedAt: str


class EntityItemsItemsItem(TypedDict):
    id: str
    label: str
    description: str | None


class EntityItemsPage(TypedDict):
    """Of an entity with `listSearch`."""

    nextCursor: str | None


class EntityItems(TypedDict):
    entityCode: str
    endpoint: str
    items: list[EntityItemsItemsItem]
    truncated: NotRequired[Literal[True]]
    page: NotRequired[EntityItemsPage]


Permission = TypedDict(
    "Permission",
    {
        "id": "int",
        "code": "str",
        "description": "str | None",
        "type": "Literal['binary', 'tiered']",
        "groupName": "str | None",
        "parentPermissionId": "int | None",
        "global": "bool",
        "createdAt": "str",
        "updatedAt": "str",
    },
)


class PushSubscription(TypedDict):
    id: int
    endpoint: str
    deviceLabel: str
    lastUsedAt: str | None
    createdAt: str
    updatedAt: str


class Role(TypedDict):
    id: int
    code: str
    name: str | None
    description: str | None
    createdAt: str
    updatedAt: str


class RolePermissionPermissionsItem(TypedDict):
    permissionId: int
    code: str
    accessLevel: Literal["allowed", "view", "edit"]


class RolePermission(TypedDict):
    permissions: list[RolePermissionPermissionsItem]


class MatrixRolesItem(TypedDict):
    id: int
    code: str
    name: str | None
    description: str | None
    createdAt: str
    updatedAt: str
    holders: int


class MatrixLevelsItem(TypedDict):
    roleId: int
    permissionId: int
    accessLevel: Literal["allowed", "view", "edit"]


class Matrix(TypedDict):
    permissions: list[Permission]
    roles: list[MatrixRolesItem]
    levels: list[MatrixLevelsItem]


class Language(TypedDict):
    code: str
    name: str
    nativeName: str
    fallback: str | None


class AssignedRole(TypedDict):
    id: int
    code: str
    name: str | None
    description: str | None
    startsAt: str | None
    endsAt: str | None


class RoleHolder(TypedDict):
    id: int
    email: str
    displayName: str | None
    registered: bool
    active: bool
    assignedAt: str
    startsAt: str | None
    endsAt: str | None


class ResourceOverridesPermissionsItem(TypedDict):
    permissionId: int
    code: str
    granted: bool
    accessLevel: Literal["allowed", "view", "edit"] | None
    startsAt: str | None
    endsAt: str | None


class ResourceOverrides(TypedDict):
    permissions: list[ResourceOverridesPermissionsItem]


class PlacedOverride(TypedDict):
    resourceType: str
    resourceId: str
    permissionId: int
    code: str
    granted: bool
    accessLevel: Literal["allowed", "view", "edit"] | None
    startsAt: str | None
    endsAt: str | None
    createdAt: str


class Override(TypedDict):
    email: str
    resourceType: str
    resourceId: str
    permission: str
    granted: bool
    accessLevel: Literal["allowed", "view", "edit"] | None
    createdAt: str
    startsAt: str | None
    endsAt: str | None


class ApplicationAdministrator(TypedDict):
    email: str
    createdAt: str
    startsAt: str | None
    endsAt: str | None


class ApplicationAdministratorFields(TypedDict):
    email: str
    startsAt: NotRequired[str | None]
    endsAt: NotRequired[str | None]


class SuperAdmin(TypedDict):
    email: str
    active: bool
    createdAt: str


class NewAdministrator(TypedDict):
    email: str


class UserRoleWindowsItem(TypedDict):
    code: str
    startsAt: str | None
    endsAt: str | None


class User(TypedDict):
    id: int
    email: str
    displayName: str | None
    active: bool
    blocked: bool
    registered: bool
    movedTo: str | None
    isSuperAdmin: NotRequired[bool]
    brand: str | None
    createdAt: str
    lastLoginAt: str | None
    roles: NotRequired[list[str]]
    roleWindows: NotRequired[list[UserRoleWindowsItem]]


class UserDetail(TypedDict):
    id: int
    email: str
    firstName: str | None
    lastName: str | None
    displayName: str | None
    avatarUrl: str | None
    locale: str | None
    theme: Literal["light", "dark", "system"]
    timezone: str | None
    brand: str | None
    identityProfileUrl: str | None
    createdAt: str
    updatedAt: str
    active: bool
    blocked: bool
    registered: bool
    movedTo: str | None
    isSuperAdmin: NotRequired[bool]
    appAdminFor: list[str]
    applications: list[Membership]


class Membership(TypedDict):
    appCode: str
    firstLoginAt: str | None
    lastLoginAt: str | None
    loginCount: int
    lastActivityAt: str | None
    roles: list[str]


class UserAccount(TypedDict):
    email: str
    issuer: str
    subject: str


class AdminStatusRolesItem(TypedDict):
    appCode: str
    roleCodes: list[str]


class AdminStatusApplicationsItem(TypedDict):
    appCode: str
    level: Literal["view", "edit"]


class AdminStatus(TypedDict):
    email: str
    isSuperAdmin: bool
    appAdminFor: list[str]
    panelPermissions: list[str]
    roles: list[AdminStatusRolesItem]
    applications: list[AdminStatusApplicationsItem]


class ImportResult(TypedDict):
    dryRun: bool
    created: int
    changed: int
    kept: int
    rolesGiven: int


class PersonalDataOverridesItem(TypedDict):
    appCode: str
    resourceType: str
    resourceId: str
    permission: str
    granted: bool
    accessLevel: Literal["allowed", "view", "edit"] | None
    since: str
    startsAt: str | None
    endsAt: str | None


class PersonalDataEventsItem(TypedDict):
    appCode: str
    event: str
    actor: str
    at: str


class PersonalDataAuditItem(TypedDict):
    id: int
    at: str
    actor: str
    action: str
    appCode: str | None
    subject: str | None
    before: Any
    after: Any
    requestId: str | None
    reason: str | None


class PersonalData(TypedDict):
    exportedAt: str
    person: StoredPerson
    overrides: list[PersonalDataOverridesItem]
    events: list[PersonalDataEventsItem]
    notifications: list[StoredNotification]
    audit: list[PersonalDataAuditItem]


class StoredPersonAccountsItem(TypedDict):
    issuer: str
    subject: str
    signsIn: bool
    organization: str | None
    seenAt: str


class StoredPersonNotificationPreferencesItem(TypedDict):
    appCode: str
    type: str
    email: bool | None
    push: bool | None
    updatedAt: str


class StoredPersonPushSubscriptionsItem(TypedDict):
    id: int
    endpoint: str
    deviceLabel: str
    lastUsedAt: str | None
    createdAt: str
    updatedAt: str


class StoredPersonRegistrationLocalesItem(TypedDict):
    orgId: str
    locale: str
    at: str


class StoredPersonProviderEventsItem(TypedDict):
    at: str
    source: str
    eventType: str | None
    orgId: str | None
    outcome: str
    reason: str | None


class StoredPersonRefusedMailsItem(TypedDict):
    at: str
    eventType: str | None
    orgId: str | None
    reason: str
    sentAt: str | None


class StoredPerson(TypedDict):
    id: int
    email: str
    providerActive: bool
    blocked: bool
    registeredAt: str | None
    createdAt: str
    superadminSince: str | None
    profile: StoredProfile | None
    accounts: list[StoredPersonAccountsItem]
    applications: list[StoredApplication]
    notificationPreferences: list[StoredPersonNotificationPreferencesItem]
    pushSubscriptions: list[StoredPersonPushSubscriptionsItem]
    registrationLocales: list[StoredPersonRegistrationLocalesItem]
    providerEvents: list[StoredPersonProviderEventsItem]
    refusedMails: list[StoredPersonRefusedMailsItem]


class StoredProfile(TypedDict):
    firstName: str | None
    lastName: str | None
    displayName: str | None
    namesChangedAt: str | None
    avatarUrl: str | None
    locale: str | None
    theme: str
    timezone: str | None
    brand: str | None
    stateChangedAt: str | None
    createdAt: str
    updatedAt: str


class StoredApplicationAdminWindow(TypedDict):
    startsAt: str | None
    endsAt: str | None


class StoredApplicationRolesItem(TypedDict):
    code: str
    since: str
    startsAt: str | None
    endsAt: str | None


class StoredApplicationPreferences(TypedDict):
    showHelp: bool
    notificationsEnabled: bool
    firstLoginAt: str | None
    lastLoginAt: str | None
    loginCount: int
    lastActivityAt: str | None
    createdAt: str
    updatedAt: str


class StoredApplication(TypedDict):
    code: str
    name: str
    adminSince: str | None
    adminWindow: StoredApplicationAdminWindow | None
    roles: list[StoredApplicationRolesItem]
    preferences: StoredApplicationPreferences | None


class StoredNotificationDeliveriesItem(TypedDict):
    channel: str
    status: str
    attempts: int
    error: str | None
    content: Any
    createdAt: str
    sentAt: str | None


class StoredNotification(TypedDict):
    id: int
    appCode: str
    type: str
    subject: str
    body: str | None
    url: str | None
    icon: str | None
    payload: Any
    status: str
    statusReason: str | None
    locale: str
    readAt: str | None
    createdAt: str
    deliveries: list[StoredNotificationDeliveriesItem]


class ErasureReceiptRemoved(TypedDict):
    people: int
    superadmins: int
    appAdmins: int
    roles: int
    overrides: int
    profiles: int
    accounts: int
    applicationPreferences: int
    events: int
    notificationPreferences: int
    pushSubscriptions: int
    registrationLocales: int
    providerEvents: int
    refusedMails: int
    notifications: int
    deliveriesWaiting: int
    deliveriesPast: int
    auditRecords: int


class ErasureReceipt(TypedDict):
    pseudonym: str
    removed: ErasureReceiptRemoved
    startedAt: str
    finishedAt: str | None


class Moved(TypedDict):
    email: str
    movedTo: str


class OffboardedRemoved(TypedDict):
    superadmins: int
    appAdmins: int
    roles: int
    overrides: int


class Offboarded(TypedDict):
    email: str
    removed: OffboardedRemoved
    handedOver: list[str]


class Access(TypedDict):
    email: str
    active: bool
    isSuperAdmin: NotRequired[bool]
    applications: list[ApplicationAccess]


class ApplicationAccessRoleWindowsItem(TypedDict):
    code: str
    startsAt: str | None
    endsAt: str | None


class ApplicationAccessPermissionsItem(TypedDict):
    code: str
    accessLevel: Literal["allowed", "view", "edit"]
    source: Literal["role", "override", "superadmin", "app_admin"]


class ApplicationAccessOverridesItem(TypedDict):
    resourceType: str
    resourceId: str
    permission: str
    granted: bool
    accessLevel: Literal["allowed", "view", "edit"] | None
    startsAt: str | None
    endsAt: str | None


class ApplicationAccess(TypedDict):
    code: str
    name: str
    level: Literal["app_admin", "member"]
    roles: list[str]
    roleWindows: list[ApplicationAccessRoleWindowsItem]
    permissions: list[ApplicationAccessPermissionsItem]
    overrides: list[ApplicationAccessOverridesItem]
    moreOverrides: int
    lastLoginAt: str | None


class SearchAnswer(TypedDict):
    people: list[FoundUser]
    applications: list[FoundApplication]
    roles: list[FoundRole]
    permissions: list[FoundPermission]


class FoundUser(TypedDict):
    email: str
    displayName: str | None
    active: bool


class FoundApplication(TypedDict):
    code: str
    name: str


class FoundRole(TypedDict):
    appCode: str
    id: int
    code: str
    description: str | None
    name: str | None


class FoundPermission(TypedDict):
    appCode: str
    id: int
    code: str
    description: str | None
    type: Literal["tiered", "binary"]


class AuditRecord(TypedDict):
    id: int
    at: str
    actor: str
    action: str
    appCode: str | None
    subject: str | None
    before: Any
    after: Any
    requestId: str | None
    reason: str | None


class OverviewCounts(TypedDict):
    applications: int
    people: int
    morePeople: bool
    roles: int
    permissions: int
    appAdmins: int


class OverviewSends(TypedDict):
    """Notifications of the last 24 hours by status."""

    queued: int
    sent: int
    partial: int
    failed: int
    suppressed: int


class OverviewFailingBrandsItem(TypedDict):
    slug: str
    name: str
    failures: int
    reason: str


class OverviewProviderReconciliationFound(TypedDict):
    created: int
    updated: int
    deactivated: int
    reactivated: int
    removed: int


class OverviewProviderReconciliationApplied(TypedDict):
    created: int
    updated: int
    deactivated: int
    reactivated: int
    removed: int


class OverviewProviderReconciliation(TypedDict):
    startedAt: str
    endedAt: str
    dryRun: bool
    outcome: Literal["done", "braked", "failed"]
    reason: str | None
    found: OverviewProviderReconciliationFound
    applied: OverviewProviderReconciliationApplied


class OverviewProvider(TypedDict):
    """For SuperAdmins."""

    reachable: bool | None
    lastEventAt: str | None
    reconciliation: OverviewProviderReconciliation | None


class Overview(TypedDict):
    revision: str
    counts: OverviewCounts
    endingSoon: int
    sends: OverviewSends
    oldestWaiting: str | None
    failingBrands: list[OverviewFailingBrandsItem]
    provider: NotRequired[OverviewProvider]


class InternalKey(TypedDict):
    name: str
    scopes: list[Literal["check", "notify", "profile", "events", "metrics", "manifest", "watch", "facts"]]
    apps: list[str] | None
    lastUsedAt: str | None


class ConfigurationValue(TypedDict):
    key: str
    variable: str
    value: Any
    source: Literal["environment", "file", "default"]


class ManifestApplication(TypedDict):
    """The application."""

    code: str
    name: NotRequired[str | None]
    description: NotRequired[str | None]
    supportedLanguages: NotRequired[list[str]]
    strictCodes: NotRequired[bool | None]
    tellEndings: NotRequired[bool | None]


class ManifestEntitiesItem(TypedDict):
    code: str
    name: str
    description: NotRequired[str | None]
    idLabel: NotRequired[str | None]
    listEndpoint: NotRequired[str | None]
    listSearch: NotRequired[bool | None]


ManifestPermissionsItem = TypedDict(
    "ManifestPermissionsItem",
    {
        "code": "str",
        "type": "Literal['binary', 'tiered']",
        "description": "NotRequired[str | None]",
        "groupName": "NotRequired[str | None]",
        "parent": "NotRequired[str | None]",
        "global": "NotRequired[bool | None]",
    },
)


class ManifestRolesItem(TypedDict):
    code: str
    name: NotRequired[str | None]
    description: NotRequired[str | None]
    permissions: NotRequired[dict[str, Literal["allowed", "view", "edit"]] | None]


class ManifestNotificationTypesItem(TypedDict):
    code: str
    name: str
    description: NotRequired[str | None]
    emailFromName: NotRequired[str | None]
    emailEnabled: NotRequired[bool | None]
    pushEnabled: NotRequired[bool | None]
    userCanDisable: NotRequired[bool | None]
    defaultEmail: NotRequired[bool | None]
    defaultPush: NotRequired[bool | None]
    selfServiceEnabled: NotRequired[bool | None]
    system: NotRequired[bool | None]


class ManifestTemplatesItem(TypedDict):
    type: str
    key: NotRequired[str | None]
    locale: str
    subject: str
    html: str
    text: NotRequired[str | None]
    pushTitle: NotRequired[str | None]
    pushBody: NotRequired[str | None]
    url: NotRequired[str | None]
    requiredVariables: NotRequired[list[str]]


class ManifestAdminsItem2(TypedDict):
    email: str
    startsAt: NotRequired[str | None]
    endsAt: NotRequired[str | None]


class ManifestAssignmentsItemRolesItem2(TypedDict):
    role: str
    startsAt: NotRequired[str | None]
    endsAt: NotRequired[str | None]


class ManifestAssignmentsItem(TypedDict):
    email: str
    roles: list[str | ManifestAssignmentsItemRolesItem2]


class ManifestOverridesItem(TypedDict):
    email: str
    resourceType: str
    resourceId: str
    permission: str
    granted: bool
    accessLevel: NotRequired[Literal["allowed", "view", "edit"] | None]
    startsAt: NotRequired[str | None]
    endsAt: NotRequired[str | None]


class ManifestTestsItem(TypedDict):
    name: NotRequired[str]
    email: str
    permission: str
    resource: NotRequired[str]
    level: NotRequired[Literal["view", "edit"]]
    expect: Literal["allowed", "denied", "view", "edit"]
    via: NotRequired[Literal["role", "override", "app_admin", "superadmin", "none"]]


class Manifest(TypedDict):
    """One application: its permissions, who holds them, and the exceptions. An absent section is left alone."""

    application: ManifestApplication
    entities: NotRequired[list[ManifestEntitiesItem]]
    permissions: NotRequired[list[ManifestPermissionsItem]]
    roles: NotRequired[list[ManifestRolesItem]]
    notificationTypes: NotRequired[list[ManifestNotificationTypesItem]]
    templates: NotRequired[list[ManifestTemplatesItem]]
    admins: NotRequired[list[str | ManifestAdminsItem2]]
    assignments: NotRequired[list[ManifestAssignmentsItem]]
    overrides: NotRequired[list[ManifestOverridesItem]]
    tests: NotRequired[list[ManifestTestsItem]]


class ManifestChange(TypedDict):
    action: Literal["create", "change", "remove"]
    kind: Literal["application", "entity", "permission", "role", "notificationType", "template", "admin", "assignment", "override"]
    key: str
    before: NotRequired[dict[str, Any]]
    after: NotRequired[dict[str, Any]]


class ManifestPlanSummary(TypedDict):
    """The number of records created, changed, removed, and already as the manifest says."""

    create: int
    change: int
    remove: int
    keep: int


class ManifestPlanEndedItem(TypedDict):
    kind: Literal["admin", "assignment", "override"]
    key: str


class ManifestPlan(TypedDict):
    application: str
    dryRun: bool
    prune: bool
    summary: ManifestPlanSummary
    assignmentsEnded: int
    changes: list[ManifestChange]
    ended: NotRequired[list[ManifestPlanEndedItem]]


class ProviderEventsEventsItem(TypedDict):
    id: int
    at: str
    source: Literal["webhook", "mail", "reconciliation", "event"]
    eventType: str | None
    orgId: str | None
    email: str | None
    outcome: Literal["applied", "unchanged", "ignored", "sent", "duplicate", "failed", "refused", "unresolved"]
    reason: str | None
    leftOut: list[str]


class ProviderEventsFallbacksItem(TypedDict):
    eventType: str | None
    reason: str
    count: int
    lastAt: str


class ProviderEventsUnknownOrganizationsItem(TypedDict):
    orgId: str | None
    count: int
    lastAt: str


class ProviderEventsUnresolvedItem(TypedDict):
    id: int
    subject: str
    sequence: int
    eventType: str
    orgId: str | None
    email: str | None
    reason: str
    tries: int
    at: str


class ProviderEventsEmailChangesItem(TypedDict):
    email: str
    to: str
    at: str


class ProviderEvents(TypedDict):
    events: list[ProviderEventsEventsItem]
    fallbacks: list[ProviderEventsFallbacksItem]
    unknownOrganizations: list[ProviderEventsUnknownOrganizationsItem]
    unresolved: list[ProviderEventsUnresolvedItem]
    emailChanges: list[ProviderEventsEmailChangesItem]


class NotificationProvider(TypedDict):
    configured: bool
    providerId: str | None
    endpoint: str
    hasSigningKey: bool
    serviceAccountConfigured: bool


class Organization(TypedDict):
    id: str
    name: str
    state: str
    primaryDomain: str | None


class EventActions(TypedDict):
    configured: bool
    targetId: str | None
    endpoint: str
    hasSigningKey: bool
    events: list[str]


class ReconciliationBrake(TypedDict):
    """The run is refused where `deactivations` is more than `allowed`."""

    percent: int
    deactivations: int
    allowed: int


class ReconciliationFound(TypedDict):
    """Lost events by what they are; of a braked run before anybody was asked for."""

    created: int
    updated: int
    deactivated: int
    reactivated: int
    removed: int


class ReconciliationApplied(TypedDict):
    """Those that changed something."""

    created: int
    updated: int
    deactivated: int
    reactivated: int
    removed: int


class ReconciliationChangesItem(TypedDict):
    email: str
    event: Literal["user.created", "user.updated", "user.deactivated", "user.reactivated", "user.removed"]


class Reconciliation(TypedDict):
    outcome: Literal["done", "braked"]
    dryRun: bool
    users: int
    people: int
    brake: ReconciliationBrake
    found: ReconciliationFound
    applied: ReconciliationApplied
    changes: list[ReconciliationChangesItem]


class Brand(TypedDict):
    id: int
    slug: str
    name: str
    isDefault: bool
    primaryColor: str | None
    backgroundColor: str | None
    logoUrl: str | None
    iconUrl: str | None
    footerText: str | None
    emailFrom: str | None
    emailFromName: str | None
    smtp: NotRequired[BrandSmtp | None]
    idpOrgId: str | None
    createdAt: str
    updatedAt: str


class BrandSmtp(TypedDict):
    host: str
    port: int
    secure: bool
    allowInsecure: bool
    user: str | None
    auth: Literal["password", "oauth2"]
    hasPassword: bool
    oauth2: BrandOAuth2 | None


class BrandOAuth2(TypedDict):
    tokenUrl: str
    clientId: str
    scope: str | None
    hasClientSecret: bool
    hasRefreshToken: bool


class BrandSmtpFields(TypedDict):
    host: NotRequired[str]
    port: NotRequired[int]
    secure: NotRequired[bool]
    allowInsecure: NotRequired[bool]
    user: NotRequired[str | None]
    auth: NotRequired[Literal["password", "oauth2"]]
    password: NotRequired[str | None]
    oauth2: NotRequired[BrandOAuth2Fields | None]


class BrandOAuth2Fields(TypedDict):
    tokenUrl: NotRequired[str]
    clientId: NotRequired[str]
    clientSecret: NotRequired[str | None]
    scope: NotRequired[str | None]
    refreshToken: NotRequired[str | None]


class BrandLook(TypedDict):
    slug: str
    name: str
    primaryColor: str | None
    backgroundColor: str | None
    logoUrl: str | None


class RefusedMail(TypedDict):
    id: int
    at: str
    lastAt: str
    deliveries: int
    reason: str
    message: str
    eventType: str | None
    orgId: str | None
    email: str | None
    sentAt: str | None


class NotificationType(TypedDict):
    id: int
    code: str
    name: str
    description: str | None
    emailEnabled: bool
    pushEnabled: bool
    userCanDisable: bool
    defaultEmail: bool
    defaultPush: bool
    selfServiceEnabled: bool
    system: bool
    emailFromName: str | None
    createdAt: str
    updatedAt: str


class Template(TypedDict):
    id: int
    notificationTypeId: int
    type: str
    key: str
    locale: str
    subject: str
    html: str
    text: str | None
    pushTitle: str | None
    pushBody: str | None
    url: str | None
    requiredVariables: list[str]
    createdAt: str
    updatedAt: str


class TemplatePreviewPush(TypedDict):
    title: str
    body: str


class TemplatePreview(TypedDict):
    subject: str
    html: str
    text: str
    push: TemplatePreviewPush


class SentNotificationsNotificationsItem(TypedDict):
    id: int
    email: str
    status: str
    statusReason: str | None


class SentNotifications(TypedDict):
    notifications: list[SentNotificationsNotificationsItem]


class NotificationRecordDeliveriesItem(TypedDict):
    channel: Literal["email", "push"]
    status: str
    attempts: int
    error: str | None
    sentAt: str | None


class NotificationRecord(TypedDict):
    id: int
    email: str
    type: str
    status: str
    statusReason: str | None
    locale: str
    createdAt: str
    deliveries: list[NotificationRecordDeliveriesItem]


class TakenBack(TypedDict):
    notifications: int
    cancelled: int
    leaving: int
    left: int
    withdrawn: int


class TakenBackOfSeveral(TypedDict):
    notifications: int
    cancelled: int
    leaving: int
    left: int
    withdrawn: int
    more: bool


class NotificationRecordOfApplicationDeliveriesItem(TypedDict):
    channel: Literal["email", "push"]
    status: str
    attempts: int
    error: str | None
    sentAt: str | None


class NotificationRecordOfApplication(TypedDict):
    id: int
    email: str
    type: str
    status: str
    statusReason: str | None
    locale: str
    createdAt: str
    deliveries: list[NotificationRecordOfApplicationDeliveriesItem]
    appCode: str


class SendCount(TypedDict):
    hour: str
    channel: Literal["email", "push"]
    brand: str
    reason: str | None
    count: int


class NotificationPreference(TypedDict):
    notificationTypeId: int
    code: str
    name: str
    description: str | None
    emailEnabled: bool
    pushEnabled: bool
    userCanDisable: bool
    email: bool
    push: bool


class InboxNotification(TypedDict):
    id: int
    appCode: str
    appName: str
    type: str
    subject: str
    body: str | None
    url: str | None
    icon: str | None
    status: str
    statusReason: str | None
    locale: str
    readAt: str | None
    createdAt: str
    payload: dict[str, Any]


class Health(TypedDict):
    status: Literal["ok"]


class Readiness(TypedDict):
    status: Literal["ready"]
    revision: str


class CheckAnswer(TypedDict):
    allowed: bool


class BatchCheckAnswer(TypedDict):
    results: list[CheckResult]


class BatchCheckBody(TypedDict):
    checks: list[CheckQuestion]


class ClearCacheAnswer(TypedDict):
    cleared: Literal[True]
    message: str
    entries: int


class EvaluateAnswerContext(TypedDict):
    source: Literal["role", "override", "superadmin", "app_admin"] | None
    access_level: Literal["allowed", "view", "edit"] | None
    revision: str


class EvaluateAnswer(TypedDict):
    decision: bool
    context: EvaluateAnswerContext


class EvaluateBodySubject(TypedDict):
    type: str
    id: str
    properties: NotRequired[dict[str, Any] | None]


class EvaluateBodyActionProperties(TypedDict):
    accessLevel: NotRequired[Literal["view", "edit"] | None]


class EvaluateBodyAction(TypedDict):
    name: str
    properties: NotRequired[EvaluateBodyActionProperties | None]


class EvaluateBodyResource(TypedDict):
    type: str
    id: str
    properties: NotRequired[dict[str, Any] | None]


class EvaluateBody(TypedDict):
    subject: EvaluateBodySubject
    action: EvaluateBodyAction
    resource: EvaluateBodyResource
    context: NotRequired[dict[str, Any] | None]


class EvaluateAllAnswerEvaluationsItemContext(TypedDict):
    source: Literal["role", "override", "superadmin", "app_admin"] | None
    access_level: Literal["allowed", "view", "edit"] | None
    revision: str


class EvaluateAllAnswerEvaluationsItem(TypedDict):
    decision: bool
    context: EvaluateAllAnswerEvaluationsItemContext


class EvaluateAllAnswer(TypedDict):
    evaluations: list[EvaluateAllAnswerEvaluationsItem]


class EvaluateAllAnswer2Context(TypedDict):
    source: Literal["role", "override", "superadmin", "app_admin"] | None
    access_level: Literal["allowed", "view", "edit"] | None
    revision: str


class EvaluateAllAnswer2(TypedDict):
    """To a request without `evaluations`."""

    decision: bool
    context: EvaluateAllAnswer2Context


class EvaluateAllBodySubject(TypedDict):
    type: NotRequired[str]
    id: NotRequired[str]
    properties: NotRequired[dict[str, Any] | None]


class EvaluateAllBodyActionProperties(TypedDict):
    accessLevel: NotRequired[Literal["view", "edit"] | None]


class EvaluateAllBodyAction(TypedDict):
    name: NotRequired[str]
    properties: NotRequired[EvaluateAllBodyActionProperties | None]


class EvaluateAllBodyResource(TypedDict):
    type: NotRequired[str]
    id: NotRequired[str]
    properties: NotRequired[dict[str, Any] | None]


class EvaluateAllBodyEvaluationsItemSubject(TypedDict):
    type: str
    id: str
    properties: NotRequired[dict[str, Any] | None]


class EvaluateAllBodyEvaluationsItemActionProperties(TypedDict):
    accessLevel: NotRequired[Literal["view", "edit"] | None]


class EvaluateAllBodyEvaluationsItemAction(TypedDict):
    name: str
    properties: NotRequired[EvaluateAllBodyEvaluationsItemActionProperties | None]


class EvaluateAllBodyEvaluationsItemResource(TypedDict):
    type: str
    id: str
    properties: NotRequired[dict[str, Any] | None]


class EvaluateAllBodyEvaluationsItem(TypedDict):
    subject: NotRequired[EvaluateAllBodyEvaluationsItemSubject | None]
    action: NotRequired[EvaluateAllBodyEvaluationsItemAction | None]
    resource: NotRequired[EvaluateAllBodyEvaluationsItemResource | None]
    context: NotRequired[dict[str, Any] | None]


class EvaluateAllBodyOptions(TypedDict):
    evaluations_semantic: NotRequired[Literal["execute_all", "deny_on_first_deny", "permit_on_first_permit"] | None]


class EvaluateAllBody(TypedDict):
    subject: NotRequired[EvaluateAllBodySubject | None]
    action: NotRequired[EvaluateAllBodyAction | None]
    resource: NotRequired[EvaluateAllBodyResource | None]
    context: NotRequired[dict[str, Any] | None]
    evaluations: NotRequired[list[EvaluateAllBodyEvaluationsItem] | None]
    options: NotRequired[EvaluateAllBodyOptions | None]


class SearchSubjectsAnswerPage(TypedDict):
    next_token: str
    count: int


class SearchSubjectsAnswerContext(TypedDict):
    revision: str


class SearchSubjectsAnswerResultsItem(TypedDict):
    type: str
    id: str


class SearchSubjectsAnswer(TypedDict):
    page: SearchSubjectsAnswerPage
    context: SearchSubjectsAnswerContext
    results: list[SearchSubjectsAnswerResultsItem]


class SearchSubjectsBodySubject(TypedDict):
    type: str


class SearchSubjectsBodyActionProperties(TypedDict):
    accessLevel: NotRequired[Literal["view", "edit"] | None]


class SearchSubjectsBodyAction(TypedDict):
    name: str
    properties: NotRequired[SearchSubjectsBodyActionProperties | None]


class SearchSubjectsBodyResource(TypedDict):
    type: str
    id: str
    properties: NotRequired[dict[str, Any] | None]


class SearchSubjectsBodyPage(TypedDict):
    token: NotRequired[str | None]
    limit: NotRequired[int | None]
    properties: NotRequired[dict[str, Any] | None]


class SearchSubjectsBody(TypedDict):
    subject: SearchSubjectsBodySubject
    action: SearchSubjectsBodyAction
    resource: SearchSubjectsBodyResource
    context: NotRequired[dict[str, Any] | None]
    page: NotRequired[SearchSubjectsBodyPage | None]


class SearchResourcesAnswerPage(TypedDict):
    next_token: str
    count: int


class SearchResourcesAnswerContext(TypedDict):
    revision: str


class SearchResourcesAnswerResultsItem(TypedDict):
    type: str
    id: str


class SearchResourcesAnswer(TypedDict):
    page: SearchResourcesAnswerPage
    context: SearchResourcesAnswerContext
    results: list[SearchResourcesAnswerResultsItem]


class SearchResourcesBodySubject(TypedDict):
    type: str
    id: str
    properties: NotRequired[dict[str, Any] | None]


class SearchResourcesBodyActionProperties(TypedDict):
    accessLevel: NotRequired[Literal["view", "edit"] | None]


class SearchResourcesBodyAction(TypedDict):
    name: str
    properties: NotRequired[SearchResourcesBodyActionProperties | None]


class SearchResourcesBodyResource(TypedDict):
    type: str


class SearchResourcesBodyPage(TypedDict):
    token: NotRequired[str | None]
    limit: NotRequired[int | None]
    properties: NotRequired[dict[str, Any] | None]


class SearchResourcesBody(TypedDict):
    subject: SearchResourcesBodySubject
    action: SearchResourcesBodyAction
    resource: SearchResourcesBodyResource
    context: NotRequired[dict[str, Any] | None]
    page: NotRequired[SearchResourcesBodyPage | None]


class SearchActionsAnswerPage(TypedDict):
    next_token: str
    count: int


class SearchActionsAnswerContext(TypedDict):
    revision: str


class SearchActionsAnswerResultsItem(TypedDict):
    name: str


class SearchActionsAnswer(TypedDict):
    page: SearchActionsAnswerPage
    context: SearchActionsAnswerContext
    results: list[SearchActionsAnswerResultsItem]


class SearchActionsBodySubject(TypedDict):
    type: str
    id: str
    properties: NotRequired[dict[str, Any] | None]


class SearchActionsBodyResource(TypedDict):
    type: str
    id: str
    properties: NotRequired[dict[str, Any] | None]


class SearchActionsBodyPage(TypedDict):
    token: NotRequired[str | None]
    limit: NotRequired[int | None]
    properties: NotRequired[dict[str, Any] | None]


class SearchActionsBody(TypedDict):
    subject: SearchActionsBodySubject
    resource: SearchActionsBodyResource
    context: NotRequired[dict[str, Any] | None]
    page: NotRequired[SearchActionsBodyPage | None]


class GetAuthzenConfigurationAnswer(TypedDict):
    policy_decision_point: str
    access_evaluation_endpoint: str
    access_evaluations_endpoint: str
    search_subject_endpoint: str
    search_resource_endpoint: str
    search_action_endpoint: str


class CheckMineAnswer(TypedDict):
    allowed: bool


class BulkCheckMineBody(TypedDict):
    app: str
    permissions: list[str]
    resourceType: NotRequired[str | None]
    resourceId: NotRequired[str | None]
    accessLevel: NotRequired[Literal["view", "edit"] | None]


class ListMyEffectiveBody(TypedDict):
    app: str
    resourceType: NotRequired[str | None]
    resourceId: NotRequired[str | None]


class BatchCheckMineAnswer(TypedDict):
    results: list[MyCheckResult]


class BatchCheckMineBody(TypedDict):
    checks: list[MyCheckQuestion]


class UpdateMyProfileBody(TypedDict):
    firstName: NotRequired[str | None]
    lastName: NotRequired[str | None]
    displayName: NotRequired[str | None]
    avatarUrl: NotRequired[str | None]
    locale: NotRequired[str | None]
    theme: NotRequired[Literal["light", "dark", "system"]]
    timezone: NotRequired[str | None]
    brand: NotRequired[str | None]
    email: NotRequired[str]
    id: NotRequired[Any]
    identityProfileUrl: NotRequired[Any]
    createdAt: NotRequired[Any]
    updatedAt: NotRequired[Any]


class UpdateMyPreferencesBody(TypedDict):
    showHelp: NotRequired[bool]
    notificationsEnabled: NotRequired[bool]
    applicationCode: NotRequired[str]


class UpdatePreferencesBody(TypedDict):
    showHelp: NotRequired[bool]
    notificationsEnabled: NotRequired[bool]
    applicationCode: NotRequired[str]


class RecordApplicationEventBody(TypedDict):
    email: str
    appCode: str
    event: Literal["login", "activity", "logout"]
    eventId: NotRequired[str]


class SyncProfileAnswer(TypedDict):
    applied: bool


class SyncProfileBody(TypedDict):
    email: str
    firstName: NotRequired[str | Literal[""] | None]
    lastName: NotRequired[str | Literal[""] | None]
    displayName: NotRequired[str | Literal[""] | None]
    changedAt: NotRequired[str]


class CreateApplicationDryRun(TypedDict):
    result: Application
    impact: Impact


class CreateApplicationBody(TypedDict):
    code: str
    name: str
    description: NotRequired[str | None]
    supportedLanguages: NotRequired[list[str]]
    strictCodes: NotRequired[bool]
    tellEndings: NotRequired[bool]


class UpdateApplicationDryRun(TypedDict):
    result: Application
    impact: Impact


class UpdateApplicationBody(TypedDict):
    name: NotRequired[str]
    description: NotRequired[str | None]
    supportedLanguages: NotRequired[list[str]]
    strictCodes: NotRequired[bool]
    tellEndings: NotRequired[bool]
    code: NotRequired[str]
    id: NotRequired[Any]
    counts: NotRequired[Any]
    createdAt: NotRequired[Any]
    updatedAt: NotRequired[Any]


class DeleteApplicationDryRun(TypedDict):
    result: dict[str, Any] | None
    impact: Impact


class ExplainInApplicationBody(TypedDict):
    email: str
    permission: str
    resourceType: NotRequired[str | None]
    resourceId: NotRequired[str | None]
    accessLevel: NotRequired[Literal["view", "edit"] | None]


class ListEffectiveInApplicationBody(TypedDict):
    email: str
    resourceType: NotRequired[str | None]
    resourceId: NotRequired[str | None]


class ListSubjectsAnswer(TypedDict):
    subjects: list[AllowedSubject]


class ListSubjectsBody(TypedDict):
    app: str
    permission: str
    resourceType: NotRequired[str | None]
    resourceId: NotRequired[str | None]
    accessLevel: NotRequired[Literal["view", "edit"] | None]
    limit: NotRequired[int | None]
    cursor: NotRequired[str | None]


class ListResourcesAnswer(TypedDict):
    scope: Literal["all", "only"]
    resourceIds: list[str]


class ListResourcesBody(TypedDict):
    email: str
    app: str
    permission: str
    resourceType: str
    accessLevel: NotRequired[Literal["view", "edit"] | None]
    limit: NotRequired[int | None]
    cursor: NotRequired[str | None]


class ListMyResourcesAnswerPage(TypedDict):
    nextCursor: str | None


class ListMyResourcesAnswer(TypedDict):
    scope: Literal["all", "only"]
    resourceIds: list[str]
    page: ListMyResourcesAnswerPage


class ListMyResourcesBody(TypedDict):
    app: str
    permission: str
    resourceType: str
    accessLevel: NotRequired[Literal["view", "edit"] | None]
    limit: NotRequired[int | None]
    cursor: NotRequired[str | None]


class ListSubjectsInApplicationAnswer(TypedDict):
    subjects: list[AllowedSubject]


class ListSubjectsInApplicationBody(TypedDict):
    permission: str
    resourceType: NotRequired[str | None]
    resourceId: NotRequired[str | None]
    accessLevel: NotRequired[Literal["view", "edit"] | None]
    limit: NotRequired[int | None]
    cursor: NotRequired[str | None]


class ListResourcesInApplicationAnswer(TypedDict):
    scope: Literal["all", "only"]
    resourceIds: list[str]


class ListResourcesInApplicationBody(TypedDict):
    email: str
    permission: str
    resourceType: str
    accessLevel: NotRequired[Literal["view", "edit"] | None]
    limit: NotRequired[int | None]
    cursor: NotRequired[str | None]


class CreateEntityDryRun(TypedDict):
    result: Entity
    impact: Impact


class CreateEntityBody(TypedDict):
    code: str
    name: str
    description: NotRequired[str | None]
    idLabel: NotRequired[str | None]
    listEndpoint: NotRequired[str | None]
    listSearch: NotRequired[bool]


class UpdateEntityDryRun(TypedDict):
    result: Entity
    impact: Impact


class UpdateEntityBody(TypedDict):
    code: NotRequired[str]
    name: NotRequired[str]
    description: NotRequired[str | None]
    idLabel: NotRequired[str | None]
    listEndpoint: NotRequired[str | None]
    listSearch: NotRequired[bool]
    id: NotRequired[Any]
    createdAt: NotRequired[Any]
    updatedAt: NotRequired[Any]


class DeleteEntityDryRun(TypedDict):
    result: dict[str, Any] | None
    impact: Impact


class CreatePermissionDryRun(TypedDict):
    result: Permission
    impact: Impact


CreatePermissionBody = TypedDict(
    "CreatePermissionBody",
    {
        "code": "str",
        "type": "Literal['binary', 'tiered']",
        "description": "NotRequired[str | None]",
        "groupName": "NotRequired[str | None]",
        "parentPermissionId": "NotRequired[int | None]",
        "parentPermission": "NotRequired[str | None]",
        "global": "NotRequired[bool]",
    },
)


class UpdatePermissionDryRun(TypedDict):
    result: Permission
    impact: Impact


UpdatePermissionBody = TypedDict(
    "UpdatePermissionBody",
    {
        "type": "NotRequired[Literal['binary', 'tiered']]",
        "description": "NotRequired[str | None]",
        "groupName": "NotRequired[str | None]",
        "parentPermissionId": "NotRequired[int | None]",
        "parentPermission": "NotRequired[str | None]",
        "global": "NotRequired[bool]",
        "code": "NotRequired[str]",
        "id": "NotRequired[Any]",
        "createdAt": "NotRequired[Any]",
        "updatedAt": "NotRequired[Any]",
    },
)


class DeletePermissionDryRun(TypedDict):
    result: dict[str, Any] | None
    impact: Impact


class GetVapidKeyAnswer(TypedDict):
    vapidPublicKey: str


class SubscribeToPushesBodySubscriptionKeys(TypedDict):
    p256dh: str
    auth: str


class SubscribeToPushesBodySubscription(TypedDict):
    endpoint: str
    keys: SubscribeToPushesBodySubscriptionKeys


class SubscribeToPushesBody(TypedDict):
    subscription: SubscribeToPushesBodySubscription
    deviceLabel: str


class UnsubscribeFromPushesAnswer(TypedDict):
    removed: bool


class UnsubscribeFromPushesBody(TypedDict):
    endpoint: str


class CreateRoleDryRun(TypedDict):
    result: Role
    impact: Impact


class CreateRoleBody(TypedDict):
    code: str
    name: NotRequired[str | None]
    description: NotRequired[str | None]


class UpdateRoleDryRun(TypedDict):
    result: Role
    impact: Impact


class UpdateRoleBody(TypedDict):
    name: NotRequired[str | None]
    description: NotRequired[str | None]
    code: NotRequired[str]
    id: NotRequired[Any]
    createdAt: NotRequired[Any]
    updatedAt: NotRequired[Any]


class DeleteRoleDryRun(TypedDict):
    result: dict[str, Any] | None
    impact: Impact


class ReplaceRolePermissionsDryRun(TypedDict):
    result: RolePermission
    impact: Impact


class ReplaceRolePermissionsBodyPermissionsItem(TypedDict):
    permissionId: NotRequired[int]
    permission: NotRequired[str]
    code: NotRequired[str]
    accessLevel: Literal["allowed", "view", "edit"]


class ReplaceRolePermissionsBody(TypedDict):
    permissions: list[ReplaceRolePermissionsBodyPermissionsItem]


class UpdateMatrixDryRun(TypedDict):
    result: Matrix
    impact: Impact


class UpdateMatrixBodyChangesItem(TypedDict):
    roleId: NotRequired[int]
    role: NotRequired[str]
    permissionId: NotRequired[int]
    permission: NotRequired[str]
    code: NotRequired[str]
    accessLevel: Literal["allowed", "view", "edit"] | None


class UpdateMatrixBody(TypedDict):
    changes: list[UpdateMatrixBodyChangesItem]


class CreateLanguageBody(TypedDict):
    code: str
    name: str
    nativeName: str
    fallback: NotRequired[str | None]


class UpdateLanguageBody(TypedDict):
    name: NotRequired[str]
    nativeName: NotRequired[str]
    fallback: NotRequired[str | None]
    code: NotRequired[str]


class ReplaceUserRolesDryRun(TypedDict):
    result: list[AssignedRole]
    impact: Impact


class ReplaceUserRolesBodyRolesItem2(TypedDict):
    role: str
    startsAt: NotRequired[str | None]
    endsAt: NotRequired[str | None]


class ReplaceUserRolesBody(TypedDict):
    roleIds: NotRequired[list[int]]
    roles: NotRequired[list[str | ReplaceUserRolesBodyRolesItem2]]


class AssignRoleDryRun(TypedDict):
    result: AssignedRole
    impact: Impact


class AssignRoleBody(TypedDict):
    roleId: NotRequired[int]
    role: NotRequired[str]
    startsAt: NotRequired[str | None]
    endsAt: NotRequired[str | None]


class RevokeRoleDryRun(TypedDict):
    result: dict[str, Any] | None
    impact: Impact


class ChangeRoleHoldersAnswer(TypedDict):
    added: int
    changed: NotRequired[int]
    removed: int


class ChangeRoleHoldersDryRunResult(TypedDict):
    added: int
    changed: NotRequired[int]
    removed: int


class ChangeRoleHoldersDryRun(TypedDict):
    result: ChangeRoleHoldersDryRunResult
    impact: Impact


class ChangeRoleHoldersBodyAddItem2(TypedDict):
    email: str
    startsAt: NotRequired[str | None]
    endsAt: NotRequired[str | None]


class ChangeRoleHoldersBody(TypedDict):
    add: NotRequired[list[str | ChangeRoleHoldersBodyAddItem2]]
    remove: NotRequired[list[str]]


class ReplaceRecordOverridesDryRun(TypedDict):
    result: ResourceOverrides
    impact: Impact


class ReplaceRecordOverridesBodyPermissionsItem(TypedDict):
    permissionId: NotRequired[int]
    permission: NotRequired[str]
    code: NotRequired[str]
    granted: bool
    accessLevel: NotRequired[Literal["allowed", "view", "edit"] | None]
    startsAt: NotRequired[str | None]
    endsAt: NotRequired[str | None]


class ReplaceRecordOverridesBody(TypedDict):
    permissions: list[ReplaceRecordOverridesBodyPermissionsItem]


class DeleteOverridesAnswer(TypedDict):
    deleted: int


class DeleteOverridesDryRunResult(TypedDict):
    deleted: int


class DeleteOverridesDryRun(TypedDict):
    result: DeleteOverridesDryRunResult
    impact: Impact


class DeleteOverridesBodyOverridesItem(TypedDict):
    email: str
    resourceType: str
    resourceId: str
    permission: str


class DeleteOverridesBody(TypedDict):
    overrides: list[DeleteOverridesBodyOverridesItem]


class AddAppAdminDryRun(TypedDict):
    result: ApplicationAdministrator
    impact: Impact


class RemoveAppAdminDryRun(TypedDict):
    result: dict[str, Any] | None
    impact: Impact


class AddSuperAdminDryRun(TypedDict):
    result: SuperAdmin
    impact: Impact


class RemoveSuperAdminDryRun(TypedDict):
    result: dict[str, Any] | None
    impact: Impact


class SetUserActiveDryRun(TypedDict):
    result: User
    impact: Impact


class SetUserActiveBody(TypedDict):
    active: bool


class SetUserAccountBody(TypedDict):
    issuer: NotRequired[str]
    subject: str


class ImportUsersBodyPeopleItem(TypedDict):
    email: str
    firstName: NotRequired[str]
    lastName: NotRequired[str]
    displayName: NotRequired[str]
    locale: NotRequired[str]
    timezone: NotRequired[str]
    brand: NotRequired[str]
    roles: NotRequired[list[str]]


class ImportUsersBody(TypedDict):
    people: list[ImportUsersBodyPeopleItem]


class EraseUserDryRun(TypedDict):
    result: ErasureReceipt
    impact: Impact


class MoveUserDryRun(TypedDict):
    result: Moved
    impact: Impact


class MoveUserBody(TypedDict):
    to: str


class OffboardUserDryRun(TypedDict):
    result: Offboarded
    impact: Impact


class OffboardUserBody(TypedDict):
    handOverTo: NotRequired[str]


class ApplyManifestAnswerSummary(TypedDict):
    """The number of records created, changed, removed, and already as the manifest says."""

    create: int
    change: int
    remove: int
    keep: int


class ApplyManifestAnswerEndedItem(TypedDict):
    kind: Literal["admin", "assignment", "override"]
    key: str


class ApplyManifestAnswer(TypedDict):
    application: str
    dryRun: bool
    prune: bool
    summary: ApplyManifestAnswerSummary
    assignmentsEnded: int
    changes: list[ManifestChange]
    ended: NotRequired[list[ApplyManifestAnswerEndedItem]]
    result: NotRequired[ManifestPlan]
    impact: NotRequired[Impact]


class ApplyOwnManifestAnswerSummary(TypedDict):
    """The number of records created, changed, removed, and already as the manifest says."""

    create: int
    change: int
    remove: int
    keep: int


class ApplyOwnManifestAnswerEndedItem(TypedDict):
    kind: Literal["admin", "assignment", "override"]
    key: str


class ApplyOwnManifestAnswer(TypedDict):
    application: str
    dryRun: bool
    prune: bool
    summary: ApplyOwnManifestAnswerSummary
    assignmentsEnded: int
    changes: list[ManifestChange]
    ended: NotRequired[list[ApplyOwnManifestAnswerEndedItem]]
    result: NotRequired[ManifestPlan]
    impact: NotRequired[Impact]


class RecordRegistrationLocaleAnswer(TypedDict):
    email: str
    orgId: str
    locale: str


class RecordRegistrationLocaleBody(TypedDict):
    email: str
    orgId: str
    locale: str


class CreateOrganizationBody(TypedDict):
    name: str
    domain: str


class UpdateOrganizationBrandingAnswer(TypedDict):
    orgId: str
    primaryColor: str | None
    logoUrl: str | None


class UpdateOrganizationBrandingBody(TypedDict):
    primaryColor: NotRequired[str]
    logoUrl: NotRequired[str]


class SetUpOrganizationAnswer(TypedDict):
    projectId: str
    appId: str
    clientId: str


class SetUpOrganizationBody(TypedDict):
    projectName: str
    appName: str
    redirectUris: list[str]
    userApiAppCode: str


class ReconcileBody(TypedDict):
    brakePercent: NotRequired[int]


class CreateBrandBody(TypedDict):
    slug: str
    name: str
    isDefault: NotRequired[bool]
    primaryColor: NotRequired[str | None]
    backgroundColor: NotRequired[str | None]
    logoUrl: NotRequired[str | None]
    iconUrl: NotRequired[str | None]
    footerText: NotRequired[str | None]
    emailFrom: NotRequired[str | None]
    emailFromName: NotRequired[str | None]
    idpOrgId: NotRequired[str | None]
    smtp: NotRequired[BrandSmtpFields | None]


class UpdateBrandBody(TypedDict):
    slug: NotRequired[str]
    name: NotRequired[str]
    isDefault: NotRequired[bool]
    primaryColor: NotRequired[str | None]
    backgroundColor: NotRequired[str | None]
    logoUrl: NotRequired[str | None]
    iconUrl: NotRequired[str | None]
    footerText: NotRequired[str | None]
    emailFrom: NotRequired[str | None]
    emailFromName: NotRequired[str | None]
    idpOrgId: NotRequired[str | None]
    smtp: NotRequired[BrandSmtpFields | None]
    id: NotRequired[Any]
    createdAt: NotRequired[Any]
    updatedAt: NotRequired[Any]


class SendBrandTestEmailAnswerSmtp(TypedDict):
    response: str


class SendBrandTestEmailAnswer(TypedDict):
    sent: Literal[True]
    smtp: SendBrandTestEmailAnswerSmtp


class SendBrandTestEmailBody(TypedDict):
    to: str


class PreviewBrandAnswer(TypedDict):
    kind: Literal["mail"]
    subject: str
    html: str
    text: str


class PreviewBrandAnswer2(TypedDict):
    kind: Literal["unsubscribe"]
    html: str


class PreviewBrandAnswer3(TypedDict):
    kind: Literal["push"]
    title: str
    body: str
    icon: str | None


class PreviewBrandBody(TypedDict):
    kind: Literal["mail", "unsubscribe", "push"]
    name: NotRequired[str]
    primaryColor: NotRequired[str | None]
    backgroundColor: NotRequired[str | None]
    logoUrl: NotRequired[str | None]
    iconUrl: NotRequired[str | None]
    footerText: NotRequired[str | None]


class ListRefusedMailsAnswer(TypedDict):
    mails: list[RefusedMail]


class SendRefusedMailAnswer(TypedDict):
    status: Literal["sent", "duplicate", "refused"]
    templateSource: NotRequired[Literal["panel", "idp"]]
    reason: NotRequired[str]


class CreateNotificationTypeBody(TypedDict):
    code: str
    name: str
    description: NotRequired[str | None]
    emailEnabled: NotRequired[bool]
    pushEnabled: NotRequired[bool]
    userCanDisable: NotRequired[bool]
    defaultEmail: NotRequired[bool]
    defaultPush: NotRequired[bool]
    selfServiceEnabled: NotRequired[bool]
    system: NotRequired[bool]
    emailFromName: NotRequired[str | None]


class UpdateNotificationTypeBody(TypedDict):
    name: NotRequired[str]
    description: NotRequired[str | None]
    emailEnabled: NotRequired[bool]
    pushEnabled: NotRequired[bool]
    userCanDisable: NotRequired[bool]
    defaultEmail: NotRequired[bool]
    defaultPush: NotRequired[bool]
    selfServiceEnabled: NotRequired[bool]
    system: NotRequired[bool]
    emailFromName: NotRequired[str | None]
    code: NotRequired[str]
    id: NotRequired[Any]
    createdAt: NotRequired[Any]
    updatedAt: NotRequired[Any]


class CreateTemplateBody(TypedDict):
    notificationTypeId: NotRequired[int]
    type: NotRequired[str]
    key: NotRequired[str]
    locale: str
    subject: str
    html: str
    text: NotRequired[str | None]
    pushTitle: NotRequired[str | None]
    pushBody: NotRequired[str | None]
    url: NotRequired[str | None]
    requiredVariables: NotRequired[list[str]]


class UpdateTemplateBody(TypedDict):
    subject: NotRequired[str]
    html: NotRequired[str]
    text: NotRequired[str | None]
    pushTitle: NotRequired[str | None]
    pushBody: NotRequired[str | None]
    url: NotRequired[str | None]
    requiredVariables: NotRequired[list[str]]
    notificationTypeId: NotRequired[int]
    type: NotRequired[str]
    key: NotRequired[str]
    locale: NotRequired[str]
    id: NotRequired[Any]
    createdAt: NotRequired[Any]
    updatedAt: NotRequired[Any]


class PreviewNewTemplateBody(TypedDict):
    subject: str
    html: str
    text: NotRequired[str | None]
    pushTitle: NotRequired[str | None]
    pushBody: NotRequired[str | None]
    url: NotRequired[str | None]
    requiredVariables: NotRequired[list[str]]
    payload: NotRequired[dict[str, Any]]
    brand: NotRequired[str]
    locale: NotRequired[str]
    notificationTypeId: NotRequired[int]
    type: NotRequired[str]
    key: NotRequired[str]
    id: NotRequired[Any]
    createdAt: NotRequired[Any]
    updatedAt: NotRequired[Any]


class PreviewTemplateBody(TypedDict):
    payload: NotRequired[dict[str, Any]]
    brand: NotRequired[str]
    locale: NotRequired[str]


class SendTestTemplateAnswerSmtp(TypedDict):
    response: str


class SendTestTemplateAnswer(TypedDict):
    sent: Literal[True]
    to: str
    smtp: SendTestTemplateAnswerSmtp


class SendTestTemplateBody(TypedDict):
    payload: NotRequired[dict[str, Any]]


class NotifyBody(TypedDict):
    appCode: str
    type: NotRequired[str]
    recipients: list[str]
    payload: NotRequired[dict[str, Any]]
    subject: NotRequired[str]
    body: NotRequired[str]
    url: NotRequired[str]
    icon: NotRequired[str]
    locale: NotRequired[str]
    templateKey: NotRequired[str]
    idempotencyKey: NotRequired[str]


class SendNotificationBody(TypedDict):
    type: NotRequired[str]
    recipients: list[str]
    payload: NotRequired[dict[str, Any]]
    subject: NotRequired[str]
    body: NotRequired[str]
    url: NotRequired[str]
    icon: NotRequired[str]
    locale: NotRequired[str]
    templateKey: NotRequired[str]
    idempotencyKey: NotRequired[str]


class CancelNotificationsBodyWaiting(TypedDict):
    """All that wait in the application, or those that fit."""

    type: NotRequired[str]
    email: NotRequired[str]


class CancelNotificationsBody(TypedDict):
    ids: NotRequired[list[int]]
    waiting: NotRequired[CancelNotificationsBodyWaiting]


class RetryNotificationsAnswer(TypedDict):
    notifications: int
    deliveries: int
    more: bool


class RetryNotificationsBody(TypedDict):
    appCode: NotRequired[str]
    status: NotRequired[Literal["failed", "partial"]]
    type: NotRequired[str]
    brand: NotRequired[str]


class UpdateMyNotificationPreferencesBodyUpdatesItem(TypedDict):
    notificationTypeId: int
    email: NotRequired[bool]
    push: NotRequired[bool]
    code: NotRequired[str]
    name: NotRequired[Any]
    description: NotRequired[Any]
    emailEnabled: NotRequired[Any]
    pushEnabled: NotRequired[Any]
    userCanDisable: NotRequired[Any]


class UpdateMyNotificationPreferencesBody(TypedDict):
    updates: list[UpdateMyNotificationPreferencesBodyUpdatesItem]


class UpdateMyNotificationPreferenceBody(TypedDict):
    email: NotRequired[bool]
    push: NotRequired[bool]
    code: NotRequired[str]
    name: NotRequired[Any]
    description: NotRequired[Any]
    emailEnabled: NotRequired[Any]
    pushEnabled: NotRequired[Any]
    userCanDisable: NotRequired[Any]
    notificationTypeId: NotRequired[int]


class CountUnreadAnswer(TypedDict):
    count: int


class MarkAllReadAnswer(TypedDict):
    updated: int


class MarkAllReadBody(TypedDict):
    appCode: NotRequired[str]
