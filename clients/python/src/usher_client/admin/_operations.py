"""Made by test/gateway/write-python-admin.ts from the routes of the gateway: do not edit."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Literal, overload

from .._read import strictly
from ._answer import Answer
from .types import *


class Operations:
    def _call(
        self,
        method: str,
        path: str,
        values: Mapping[str, object],
        query: Mapping[str, object],
        headers: Mapping[str, str | None],
        body: object,
    ) -> Answer[Any]:
        raise NotImplementedError

    @strictly
    def check(self, *, body: CheckQuestion, min_revision: str | None = None) -> Answer[CheckAnswer]:
        """Check one permission of a user.

        Answers whether the user holds the permission in the application, globally or for one record. An unknown application is denied, and so is an unknown permission unless the application has `strictCodes` (UNKNOWN_CODE). An error is not an answer: treat the user as denied for this request.

        Needs an internal API key with the scope `check` where keys are configured. Not for browsers.
        """
        return self._call(
            "POST",
            "/api/check",
            {},
            {},
            {"usher-min-revision": min_revision},
            body,
        )

    @strictly
    def bulk_check(
        self,
        *,
        body: BulkQuestion,
        min_revision: str | None = None,
    ) -> Answer[dict[str, bool]]:
        """Check several permissions of a user.

        One answer for each distinct code, all at one revision.

        Needs an internal API key with the scope `check` where keys are configured. Not for browsers.
        """
        return self._call(
            "POST",
            "/api/check/bulk",
            {},
            {},
            {"usher-min-revision": min_revision},
            body,
        )

    @strictly
    def list_effective(
        self,
        *,
        body: EffectiveQuestion,
        min_revision: str | None = None,
    ) -> Answer[list[EffectivePermission]]:
        """List what a user holds in an application.

        Every permission that the application defines, by group (those without one last), then code. Empty for an unknown application.

        Needs an internal API key with the scope `check` where keys are configured. Not for browsers.
        """
        return self._call(
            "POST",
            "/api/check/effective",
            {},
            {},
            {"usher-min-revision": min_revision},
            body,
        )

    @strictly
    def batch_check(
        self,
        *,
        body: BatchCheckBody,
        min_revision: str | None = None,
    ) -> Answer[BatchCheckAnswer]:
        """Check permissions of any users for any records.

        Answers each check in order, all at one revision: one call for a page of rows. A malformed check refuses the whole call and is named (`checks.3.resourceId`).

        Needs an internal API key with the scope `check` where keys are configured. Not for browsers.
        """
        return self._call(
            "POST",
            "/api/check/batch",
            {},
            {},
            {"usher-min-revision": min_revision},
            body,
        )

    @strictly
    def explain(
        self,
        *,
        body: CheckQuestion,
        min_revision: str | None = None,
    ) -> Answer[Explanation]:
        """Explain the answer to a check.

        Answers one check with the result of each of the six rules, read from the database and never from a cache of decisions. `strictCodes` refuses nothing here: `known` says what exists.

        Needs an internal API key with the scope `check` where keys are configured. Not for browsers.
        """
        return self._call(
            "POST",
            "/api/check/explain",
            {},
            {},
            {"usher-min-revision": min_revision},
            body,
        )

    @strictly
    def clear_cache(self, *, everywhere: bool | None = None) -> Answer[ClearCacheAnswer]:
        """Forget every cached decision and fact.

        Of this instance, or of all. Only needed after rows were changed by hand.

        Needs an internal API key with the scope `check` where keys are configured. Not for browsers.
        """
        return self._call(
            "POST",
            "/api/check/cache/clear",
            {},
            {"everywhere": everywhere},
            {},
            None,
        )

    @strictly
    def check_by_status(
        self,
        *,
        app_code: str,
        permission: str,
        resource_type: str | None | None = None,
        resource_id: str | None | None = None,
        access_level: Literal["view", "edit"] | None | None = None,
    ) -> Answer[None]:
        """Check by status.

        For proxies that read only a status: 204 allowed, 403 denied, 401 without a user, 503 without an answer; 2xx is a yes and nothing else. Every method is answered alike, at this path and every path below it, and the body is not read. Answers about a person carry `x-usher-email`, `x-usher-access-level` and `x-usher-source`.

        Needs the user's bearer token; or an internal API key with the scope `check` where keys are configured, and the user's address in the header `x-auth-request-email`. `Origin` says nothing here, and no page of another origin can read the answer.
        """
        return self._call(
            "GET",
            "/api/gateway/{app_code}/check",
            {"app_code": app_code},
            {"permission": permission, "resourceType": resource_type, "resourceId": resource_id, "accessLevel": access_level},
            {},
            None,
        )

    @strictly
    def evaluate(
        self,
        *,
        app_code: str,
        body: EvaluateBody,
        min_revision: str | None = None,
    ) -> Answer[EvaluateAnswer]:
        """Evaluate one request.

        Whether the subject may do the action to the resource: a check of the application that the path names. `{type: usher:application, id: <the application's code>}` asks without a record. An error is not a decision: treat the subject as denied.

        Needs an internal API key with the scope `check` where keys are configured. Not for browsers. It may come as `Authorization: Bearer <key>` too.
        """
        return self._call(
            "POST",
            "/authzen/{app_code}/access/v1/evaluation",
            {"app_code": app_code},
            {},
            {"usher-min-revision": min_revision},
            body,
        )

    @strictly
    def evaluate_all(
        self,
        *,
        app_code: str,
        body: EvaluateAllBody,
        min_revision: str | None = None,
    ) -> Answer[EvaluateAllAnswer | EvaluateAllAnswer2]:
        """Evaluate several requests.

        Decisions of one revision, in the order of the requests. The members beside `evaluations` are defaults, which an evaluation replaces whole. A malformed evaluation refuses the whole call and is named (`evaluations.3.resource.id`).

        Needs an internal API key with the scope `check` where keys are configured. Not for browsers. It may come as `Authorization: Bearer <key>` too.
        """
        return self._call(
            "POST",
            "/authzen/{app_code}/access/v1/evaluations",
            {"app_code": app_code},
            {},
            {"usher-min-revision": min_revision},
            body,
        )

    @strictly
    def search_subjects(
        self,
        *,
        app_code: str,
        body: SearchSubjectsBody,
        min_revision: str | None = None,
    ) -> Answer[SearchSubjectsAnswer]:
        """Search the users who may do something.

        Everybody for whom an evaluation of the same request says yes, in the form of the type: accounts for `identity` (`authzen.accountTypes`), addresses for the others. A page may hold fewer than its limit: only an empty `next_token` ends the results.

        Needs an internal API key with the scope `check` where keys are configured. Not for browsers. It may come as `Authorization: Bearer <key>` too.
        """
        return self._call(
            "POST",
            "/authzen/{app_code}/access/v1/search/subject",
            {"app_code": app_code},
            {},
            {"usher-min-revision": min_revision},
            body,
        )

    @strictly
    def search_resources(
        self,
        *,
        app_code: str,
        body: SearchResourcesBody,
        min_revision: str | None = None,
    ) -> Answer[SearchResourcesAnswer]:
        """Search the records that a user can reach.

        Every record of the type for which an evaluation of the same request says yes. 400 UNBOUNDED where these are all but some, as with a permission held by role. A page may hold fewer than its limit: only an empty `next_token` ends the results.

        Needs an internal API key with the scope `check` where keys are configured. Not for browsers. It may come as `Authorization: Bearer <key>` too.
        """
        return self._call(
            "POST",
            "/authzen/{app_code}/access/v1/search/resource",
            {"app_code": app_code},
            {},
            {"usher-min-revision": min_revision},
            body,
        )

    @strictly
    def search_actions(
        self,
        *,
        app_code: str,
        body: SearchActionsBody,
        min_revision: str | None = None,
    ) -> Answer[SearchActionsAnswer]:
        """Search what a user may do to a record.

        The permissions of the application that the subject holds for the resource, at any level, in one page.

        Needs an internal API key with the scope `check` where keys are configured. Not for browsers. It may come as `Authorization: Bearer <key>` too.
        """
        return self._call(
            "POST",
            "/authzen/{app_code}/access/v1/search/action",
            {"app_code": app_code},
            {},
            {"usher-min-revision": min_revision},
            body,
        )

    @strictly
    def get_authzen_configuration(self, *, app_code: str) -> Answer[GetAuthzenConfigurationAnswer]:
        """Read where a policy decision point has its endpoints.

        Built from `publicUrl`. 404 for an application that does not exist.

        Needs an internal API key with the scope `check` where keys are configured. Not for browsers. It may come as `Authorization: Bearer <key>` too.
        """
        return self._call(
            "GET",
            "/.well-known/authzen-configuration/authzen/{app_code}",
            {"app_code": app_code},
            {},
            {},
            None,
        )

    @strictly
    def check_mine(
        self,
        *,
        body: MyCheckQuestion,
        min_revision: str | None = None,
    ) -> Answer[CheckMineAnswer]:
        """Check one of my permissions.

        Needs a user's bearer token. An inactive user gets an answer too: everything is denied.
        """
        return self._call(
            "POST",
            "/api/profile/me/check",
            {},
            {},
            {"usher-min-revision": min_revision},
            body,
        )

    @strictly
    def bulk_check_mine(
        self,
        *,
        body: BulkCheckMineBody,
        min_revision: str | None = None,
    ) -> Answer[dict[str, bool]]:
        """Check several of my permissions.

        One answer for each distinct code, all at one revision.

        Needs a user's bearer token. An inactive user gets an answer too: everything is denied.
        """
        return self._call(
            "POST",
            "/api/profile/me/check/bulk",
            {},
            {},
            {"usher-min-revision": min_revision},
            body,
        )

    @strictly
    def list_my_effective(
        self,
        *,
        body: ListMyEffectiveBody,
        min_revision: str | None = None,
    ) -> Answer[list[MyEffectivePermission]]:
        """List what I hold in an application.

        Every permission that the application defines, by group (those without one last), then code.

        Needs a user's bearer token. An inactive user gets an answer too: everything is denied.
        """
        return self._call(
            "POST",
            "/api/profile/me/check/effective",
            {},
            {},
            {"usher-min-revision": min_revision},
            body,
        )

    @strictly
    def batch_check_mine(
        self,
        *,
        body: BatchCheckMineBody,
        min_revision: str | None = None,
    ) -> Answer[BatchCheckMineAnswer]:
        """Check my permissions for many records.

        Answers each check in order, all at one revision. A malformed check refuses the whole call and is named (`checks.3.resourceId`).

        Needs a user's bearer token. An inactive user gets an answer too: everything is denied.
        """
        return self._call(
            "POST",
            "/api/profile/me/check/batch",
            {},
            {},
            {"usher-min-revision": min_revision},
            body,
        )

    @strictly
    def get_my_profile(self) -> Answer[Profile]:
        """My profile.

        Created at the first access, with the names and the picture of the token. A newer token updates the names; an older one changes nothing.

        Needs an active user's bearer token.
        """
        return self._call(
            "GET",
            "/api/profile/me",
            {},
            {},
            {},
            None,
        )

    @strictly
    def update_my_profile(self, *, body: UpdateMyProfileBody) -> Answer[Profile]:
        """Change my profile.

        Changes the fields sent. Names are sent to the identity provider first and stored once it has accepted them. Null clears a name or the picture, and resets language, time zone and brand.

        Needs an active user's bearer token.
        """
        return self._call(
            "PUT",
            "/api/profile/me",
            {},
            {},
            {},
            body,
        )

    @strictly
    def get_profile(self, *, email: str) -> Answer[Profile]:
        """A user's profile.

        SuperAdmins and app admins may read every profile; panel users those of users of applications on which they have a level.

        Needs the bearer token of a SuperAdmin, an app admin of any application, or a panel user.
        """
        return self._call(
            "GET",
            "/api/profile/{email}",
            {"email": email},
            {},
            {},
            None,
        )

    @strictly
    def list_my_preferences(self) -> Answer[list[ApplicationPreferences]]:
        """My preferences in every application.

        For applications that I have used or set preferences in, by code.

        Needs an active user's bearer token.
        """
        return self._call(
            "GET",
            "/api/profile/me/apps",
            {},
            {},
            {},
            None,
        )

    @strictly
    def enter_application(self, *, app_code: str) -> Answer[ApplicationPreferences]:
        """Log in to an application.

        The login bootstrap: records a login and returns my preferences, which it creates with defaults on the first login. A front end calls it exactly once, when its authenticated start is complete.

        Needs an active user's bearer token.
        """
        return self._call(
            "GET",
            "/api/profile/me/apps/{app_code}",
            {"app_code": app_code},
            {},
            {},
            None,
        )

    @strictly
    def update_my_preferences(
        self,
        *,
        app_code: str,
        body: UpdateMyPreferencesBody,
    ) -> Answer[ApplicationPreferences]:
        """Change my preferences in an application.

        Changes the fields sent. Records no login.

        Needs an active user's bearer token.
        """
        return self._call(
            "PUT",
            "/api/profile/me/apps/{app_code}",
            {"app_code": app_code},
            {},
            {},
            body,
        )

    @strictly
    def record_my_activity(self, *, app_code: str) -> Answer[Recorded]:
        """Record my activity in an application.

        Updates my last activity there, at most once in five minutes; `recorded` says whether this call did. Changes no login.

        Needs an active user's bearer token.
        """
        return self._call(
            "POST",
            "/api/profile/me/apps/{app_code}/activity",
            {"app_code": app_code},
            {},
            {},
            None,
        )

    @strictly
    def record_my_logout(self, *, app_code: str) -> Answer[Recorded]:
        """Record my logout from an application.

        Adds an event and an audit record. Changes no login.

        Needs an active user's bearer token.
        """
        return self._call(
            "POST",
            "/api/profile/me/apps/{app_code}/logout",
            {"app_code": app_code},
            {},
            {},
            None,
        )

    @strictly
    def get_preferences(self, *, email: str, app_code: str) -> Answer[ApplicationPreferences]:
        """A user's preferences in an application.

        The defaults if nothing was set.

        Needs the bearer token of a SuperAdmin, an app admin of the application, or a panel user with level `view` on it.
        """
        return self._call(
            "GET",
            "/api/users/{email}/apps/{app_code}/preferences",
            {"email": email, "app_code": app_code},
            {},
            {},
            None,
        )

    @strictly
    def update_preferences(
        self,
        *,
        email: str,
        app_code: str,
        body: UpdatePreferencesBody,
    ) -> Answer[ApplicationPreferences]:
        """Change a user's preferences in an application.

        Changes the fields sent. Records no login.

        Needs the bearer token of a SuperAdmin, an app admin of the application, or a panel user with level `edit` on it.
        """
        return self._call(
            "PUT",
            "/api/users/{email}/apps/{app_code}/preferences",
            {"email": email, "app_code": app_code},
            {},
            {},
            body,
        )

    @strictly
    def list_application_events(
        self,
        *,
        email: str,
        app_code: str,
        limit: int | None = None,
        cursor: str | None = None,
    ) -> Answer[list[ApplicationEvent]]:
        """A user's logins and logouts in an application.

        The newest first.

        Needs the bearer token of a SuperAdmin, an app admin of the application, or a panel user with level `view` on it.
        """
        return self._call(
            "GET",
            "/api/users/{email}/apps/{app_code}/events",
            {"email": email, "app_code": app_code},
            {"limit": limit, "cursor": cursor},
            {},
            None,
        )

    @strictly
    def record_application_event(self, *, body: RecordApplicationEventBody) -> Answer[Recorded]:
        """Record a login, activity or a logout.

        For applications whose backend records logins instead of the front end. Use only one of the two, or each login counts twice. `activity` updates only the last activity, at most once in five minutes; `logout` adds an event and an audit record.

        Needs an internal API key with the scope `events`; without configured keys that of `dataDir/internal-api-key`. Not for browsers.
        """
        return self._call(
            "POST",
            "/api/internal/auth/application-events",
            {},
            {},
            {},
            body,
        )

    @strictly
    def sync_profile(self, *, body: SyncProfileBody) -> Answer[SyncProfileAnswer]:
        """Store names that were changed at the identity provider.

        Null or an empty text clears a name; a name that is left out stays. `applied` is false for an unknown user, and for a `changedAt` older than the last change of names known here.

        Needs an internal API key with the scope `profile`; without configured keys that of `dataDir/internal-api-key`. Not for browsers.
        """
        return self._call(
            "PUT",
            "/api/internal/auth/profile-sync",
            {},
            {},
            {},
            body,
        )

    @strictly
    def list_applications(
        self,
        *,
        limit: int | None = None,
        cursor: str | None = None,
        q: str | None = None,
        sort: Literal["code", "name", "updatedAt", "people", "roles", "permissions", "admins"] | None = None,
    ) -> Answer[list[ListedApplication]]:
        """List the applications that the caller may view.

        Empty for a panel user without a level on any. Whole, by code, unless `limit` or `cursor` asks for a page of it.

        Needs the bearer token of a SuperAdmin, an app admin of any application, or a panel user.
        """
        return self._call(
            "GET",
            "/api/applications",
            {},
            {"limit": limit, "cursor": cursor, "q": q, "sort": sort},
            {},
            None,
        )

    @overload
    def create_application(
        self,
        *,
        dry_run: Literal[True],
        body: CreateApplicationBody,
        if_revision: str | None = None,
    ) -> Answer[CreateApplicationDryRun]: ...

    @overload
    def create_application(
        self,
        *,
        body: CreateApplicationBody,
        if_revision: str | None = None,
        dry_run: Literal[False] | None = None,
    ) -> Answer[Application]: ...

    @strictly
    def create_application(
        self,
        *,
        body: CreateApplicationBody,
        dry_run: bool | None = None,
        if_revision: str | None = None,
    ) -> Answer[Any]:
        """Create an application.

        It starts with only the notification type `generic`.

        Needs the bearer token of a SuperAdmin, or of a panel user who manages every application.
        """
        return self._call(
            "POST",
            "/api/applications",
            {},
            {"dryRun": dry_run},
            {"usher-if-revision": if_revision},
            body,
        )

    @strictly
    def get_application(self, *, app_code: str) -> Answer[Application]:
        """One application.

        Needs the bearer token of a SuperAdmin, an app admin of the application, or a panel user with level `view` on it.
        """
        return self._call(
            "GET",
            "/api/applications/{app_code}",
            {"app_code": app_code},
            {},
            {},
            None,
        )

    @overload
    def update_application(
        self,
        *,
        dry_run: Literal[True],
        app_code: str,
        body: UpdateApplicationBody,
        if_match: str | None = None,
        if_revision: str | None = None,
    ) -> Answer[UpdateApplicationDryRun]: ...

    @overload
    def update_application(
        self,
        *,
        app_code: str,
        body: UpdateApplicationBody,
        if_match: str | None = None,
        if_revision: str | None = None,
        dry_run: Literal[False] | None = None,
    ) -> Answer[Application]: ...

    @strictly
    def update_application(
        self,
        *,
        app_code: str,
        body: UpdateApplicationBody,
        dry_run: bool | None = None,
        if_match: str | None = None,
        if_revision: str | None = None,
    ) -> Answer[Any]:
        """Change an application.

        Needs the bearer token of a SuperAdmin, an app admin of the application, or a panel user with level `edit` on it.
        """
        return self._call(
            "PUT",
            "/api/applications/{app_code}",
            {"app_code": app_code},
            {"dryRun": dry_run},
            {"if-match": if_match, "usher-if-revision": if_revision},
            body,
        )

    @overload
    def delete_application(
        self,
        *,
        dry_run: Literal[True],
        app_code: str,
        if_revision: str | None = None,
    ) -> Answer[DeleteApplicationDryRun]: ...

    @overload
    def delete_application(
        self,
        *,
        app_code: str,
        if_revision: str | None = None,
        dry_run: Literal[False] | None = None,
    ) -> Answer[None]: ...

    @strictly
    def delete_application(
        self,
        *,
        app_code: str,
        dry_run: bool | None = None,
        if_revision: str | None = None,
    ) -> Answer[Any]:
        """Delete an application and everything in it.

        Deletes its entities, permissions, roles, assignments, overrides, admins, notification types, templates and notifications too.

        Needs the bearer token of a SuperAdmin, or of a panel user who manages every application.
        """
        return self._call(
            "DELETE",
            "/api/applications/{app_code}",
            {"app_code": app_code},
            {"dryRun": dry_run},
            {"usher-if-revision": if_revision},
            None,
        )

    @strictly
    def get_texts(self, *, app_code: str, locale: str) -> Answer[dict[str, str]]:
        """The texts of an application by key.

        Flat: `notifications.types.<code>.title`, and `notifications.types.<code>.description` if present. Texts are stored without a locale, so every locale gets the same.

        Needs an active user's bearer token.
        """
        return self._call(
            "GET",
            "/api/applications/{app_code}/i18n/{locale}",
            {"app_code": app_code, "locale": locale},
            {},
            {},
            None,
        )

    @strictly
    def explain_in_application(
        self,
        *,
        app_code: str,
        body: ExplainInApplicationBody,
        min_revision: str | None = None,
    ) -> Answer[Explanation]:
        """Explain why a user holds a permission of the application, or does not.

        As /api/check/explain, for administrators: the result of each of the six rules, read from the database.

        Needs the bearer token of a SuperAdmin, an app admin of the application, or a panel user with level `view` on it.
        """
        return self._call(
            "POST",
            "/api/applications/{app_code}/explain",
            {"app_code": app_code},
            {},
            {"usher-min-revision": min_revision},
            body,
        )

    @strictly
    def list_effective_in_application(
        self,
        *,
        app_code: str,
        body: ListEffectiveInApplicationBody,
        min_revision: str | None = None,
    ) -> Answer[list[EffectivePermission]]:
        """List what a user holds in the application.

        As /api/check/effective, for administrators: every permission that the application defines, by group (those without one last), then code.

        Needs the bearer token of a SuperAdmin, an app admin of the application, or a panel user with level `view` on it.
        """
        return self._call(
            "POST",
            "/api/applications/{app_code}/effective",
            {"app_code": app_code},
            {},
            {"usher-min-revision": min_revision},
            body,
        )

    @strictly
    def list_subjects(
        self,
        *,
        body: ListSubjectsBody,
        min_revision: str | None = None,
    ) -> Answer[ListSubjectsAnswer]:
        """List who holds a permission.

        Everybody whom a check of the same question allows: by role or override, including administrators of the application, SuperAdmins and addresses without a record, but not inactive users. In a stable order; a person who qualifies throughout is listed exactly once. Each page reflects one revision.

        Needs an internal API key with the scope `check` where keys are configured. Not for browsers.
        """
        return self._call(
            "POST",
            "/api/check/subjects",
            {},
            {},
            {"usher-min-revision": min_revision},
            body,
        )

    @strictly
    def list_resources(
        self,
        *,
        body: ListResourcesBody,
        min_revision: str | None = None,
    ) -> Answer[ListResourcesAnswer]:
        """List the records that a user can reach.

        A filter for your own query: `all` with records to exclude (NOT IN), or `only` with records to include (IN). Exact even for records unknown to Usher. All pages reflect one state: 409 LIST_CHANGED when what the user holds, or the policy of the application, has changed since the first; then start over. A list of exceptions must not be used before it is complete.

        Needs an internal API key with the scope `check` where keys are configured. Not for browsers.
        """
        return self._call(
            "POST",
            "/api/check/resources",
            {},
            {},
            {"usher-min-revision": min_revision},
            body,
        )

    @strictly
    def list_my_resources(
        self,
        *,
        body: ListMyResourcesBody,
        min_revision: str | None = None,
    ) -> Answer[ListMyResourcesAnswer]:
        """List the records that I can reach.

        A filter for your own query: `all` with records to exclude (NOT IN), or `only` with records to include (IN). Exact even for records unknown to Usher. All pages reflect one state: 409 LIST_CHANGED when what the user holds, or the policy of the application, has changed since the first; then start over. A list of exceptions must not be used before it is complete.

        Needs a user's bearer token. An inactive user gets an answer too: everything is denied.
        """
        return self._call(
            "POST",
            "/api/profile/me/check/resources",
            {},
            {},
            {"usher-min-revision": min_revision},
            body,
        )

    @strictly
    def list_subjects_in_application(
        self,
        *,
        app_code: str,
        body: ListSubjectsInApplicationBody,
        min_revision: str | None = None,
    ) -> Answer[ListSubjectsInApplicationAnswer]:
        """List who holds a permission of the application.

        Everybody whom a check of the same question allows: by role or override, including administrators of the application, SuperAdmins and addresses without a record, but not inactive users. In a stable order; a person who qualifies throughout is listed exactly once. Each page reflects one revision.

        Needs the bearer token of a SuperAdmin, an app admin of the application, or a panel user with level `view` on it.
        """
        return self._call(
            "POST",
            "/api/applications/{app_code}/subjects",
            {"app_code": app_code},
            {},
            {"usher-min-revision": min_revision},
            body,
        )

    @strictly
    def list_resources_in_application(
        self,
        *,
        app_code: str,
        body: ListResourcesInApplicationBody,
        min_revision: str | None = None,
    ) -> Answer[ListResourcesInApplicationAnswer]:
        """List the records of the application that a user can reach.

        A filter for your own query: `all` with records to exclude (NOT IN), or `only` with records to include (IN). Exact even for records unknown to Usher. All pages reflect one state: 409 LIST_CHANGED when what the user holds, or the policy of the application, has changed since the first; then start over. A list of exceptions must not be used before it is complete.

        Needs the bearer token of a SuperAdmin, an app admin of the application, or a panel user with level `view` on it.
        """
        return self._call(
            "POST",
            "/api/applications/{app_code}/resources",
            {"app_code": app_code},
            {},
            {"usher-min-revision": min_revision},
            body,
        )

    @strictly
    def list_entities(self, *, app_code: str) -> Answer[list[Entity]]:
        """The entity catalog of an application.

        Needs the bearer token of a SuperAdmin, an app admin of the application, or a panel user with level `view` on it.
        """
        return self._call(
            "GET",
            "/api/applications/{app_code}/entities",
            {"app_code": app_code},
            {},
            {},
            None,
        )

    @overload
    def create_entity(
        self,
        *,
        dry_run: Literal[True],
        app_code: str,
        body: CreateEntityBody,
        if_revision: str | None = None,
    ) -> Answer[CreateEntityDryRun]: ...

    @overload
    def create_entity(
        self,
        *,
        app_code: str,
        body: CreateEntityBody,
        if_revision: str | None = None,
        dry_run: Literal[False] | None = None,
    ) -> Answer[Entity]: ...

    @strictly
    def create_entity(
        self,
        *,
        app_code: str,
        body: CreateEntityBody,
        dry_run: bool | None = None,
        if_revision: str | None = None,
    ) -> Answer[Any]:
        """Add an entity to the catalog.

        Once the catalog has an entity, new overrides of other resource types are refused.

        Needs the bearer token of a SuperAdmin, an app admin of the application, or a panel user with level `edit` on it.
        """
        return self._call(
            "POST",
            "/api/applications/{app_code}/entities",
            {"app_code": app_code},
            {"dryRun": dry_run},
            {"usher-if-revision": if_revision},
            body,
        )

    @overload
    def update_entity(
        self,
        *,
        dry_run: Literal[True],
        app_code: str,
        id: str,
        body: UpdateEntityBody,
        if_revision: str | None = None,
    ) -> Answer[UpdateEntityDryRun]: ...

    @overload
    def update_entity(
        self,
        *,
        app_code: str,
        id: str,
        body: UpdateEntityBody,
        if_revision: str | None = None,
        dry_run: Literal[False] | None = None,
    ) -> Answer[Entity]: ...

    @strictly
    def update_entity(
        self,
        *,
        app_code: str,
        id: str,
        body: UpdateEntityBody,
        dry_run: bool | None = None,
        if_revision: str | None = None,
    ) -> Answer[Any]:
        """Change an entity.

        Including its code, while no override names a resource of this type.

        Needs the bearer token of a SuperAdmin, an app admin of the application, or a panel user with level `edit` on it.
        """
        return self._call(
            "PUT",
            "/api/applications/{app_code}/entities/{id}",
            {"app_code": app_code, "id": id},
            {"dryRun": dry_run},
            {"usher-if-revision": if_revision},
            body,
        )

    @overload
    def delete_entity(
        self,
        *,
        dry_run: Literal[True],
        app_code: str,
        id: str,
        if_revision: str | None = None,
    ) -> Answer[DeleteEntityDryRun]: ...

    @overload
    def delete_entity(
        self,
        *,
        app_code: str,
        id: str,
        if_revision: str | None = None,
        dry_run: Literal[False] | None = None,
    ) -> Answer[None]: ...

    @strictly
    def delete_entity(
        self,
        *,
        app_code: str,
        id: str,
        dry_run: bool | None = None,
        if_revision: str | None = None,
    ) -> Answer[Any]:
        """Remove an entity from the catalog.

        Refused while overrides name resources of this type.

        Needs the bearer token of a SuperAdmin, an app admin of the application, or a panel user with level `edit` on it.
        """
        return self._call(
            "DELETE",
            "/api/applications/{app_code}/entities/{id}",
            {"app_code": app_code, "id": id},
            {"dryRun": dry_run},
            {"usher-if-revision": if_revision},
            None,
        )

    @strictly
    def list_entity_items(
        self,
        *,
        app_code: str,
        entity_code: str,
        q: str | None = None,
        cursor: str | None = None,
        ids: str | None = None,
    ) -> Answer[EntityItems]:
        """List the existing records of an entity.

        Calls the entity's `listEndpoint` with the bearer token of the caller. It may return an array, or one in `data`, `items` or `results`; ids are read from `id`, `code` or `uuid`, labels from `name`, `title` or `label`; a record without an id that an override could name is left out. Only origins in `entities.allowedOrigins` are called (outside production loopback too). 502 with `details.reason` without such an answer within 5 seconds and 1 MiB; redirects are not followed. Of an entity with `listSearch` the query goes to the endpoint as it is, which answers the page, and its `nextCursor` (or `page.nextCursor`). Of another one the answer is searched here, and there are no cursors.

        Needs the bearer token of a SuperAdmin, an app admin of the application, or a panel user with level `view` on it.
        """
        return self._call(
            "GET",
            "/api/applications/{app_code}/entities/{entity_code}/items",
            {"app_code": app_code, "entity_code": entity_code},
            {"q": q, "cursor": cursor, "ids": ids},
            {},
            None,
        )

    @strictly
    def list_permissions(self, *, app_code: str) -> Answer[list[Permission]]:
        """All permissions of an application.

        Needs the bearer token of a SuperAdmin, an app admin of the application, or a panel user with level `view` on it.
        """
        return self._call(
            "GET",
            "/api/applications/{app_code}/permissions",
            {"app_code": app_code},
            {},
            {},
            None,
        )

    @overload
    def create_permission(
        self,
        *,
        dry_run: Literal[True],
        app_code: str,
        body: CreatePermissionBody,
        if_revision: str | None = None,
    ) -> Answer[CreatePermissionDryRun]: ...

    @overload
    def create_permission(
        self,
        *,
        app_code: str,
        body: CreatePermissionBody,
        if_revision: str | None = None,
        dry_run: Literal[False] | None = None,
    ) -> Answer[Permission]: ...

    @strictly
    def create_permission(
        self,
        *,
        app_code: str,
        body: CreatePermissionBody,
        dry_run: bool | None = None,
        if_revision: str | None = None,
    ) -> Answer[Any]:
        """Create a permission.

        Needs the bearer token of a SuperAdmin, an app admin of the application, or a panel user with level `edit` on it.
        """
        return self._call(
            "POST",
            "/api/applications/{app_code}/permissions",
            {"app_code": app_code},
            {"dryRun": dry_run},
            {"usher-if-revision": if_revision},
            body,
        )

    @overload
    def update_permission(
        self,
        *,
        dry_run: Literal[True],
        app_code: str,
        permission_id: str,
        body: UpdatePermissionBody,
        if_revision: str | None = None,
    ) -> Answer[UpdatePermissionDryRun]: ...

    @overload
    def update_permission(
        self,
        *,
        app_code: str,
        permission_id: str,
        body: UpdatePermissionBody,
        if_revision: str | None = None,
        dry_run: Literal[False] | None = None,
    ) -> Answer[Permission]: ...

    @strictly
    def update_permission(
        self,
        *,
        app_code: str,
        permission_id: str,
        body: UpdatePermissionBody,
        dry_run: bool | None = None,
        if_revision: str | None = None,
    ) -> Answer[Any]:
        """Change a permission.

        The type can change only while no role or override refers to it.

        Needs the bearer token of a SuperAdmin, an app admin of the application, or a panel user with level `edit` on it.
        """
        return self._call(
            "PUT",
            "/api/applications/{app_code}/permissions/{permission_id}",
            {"app_code": app_code, "permission_id": permission_id},
            {"dryRun": dry_run},
            {"usher-if-revision": if_revision},
            body,
        )

    @overload
    def delete_permission(
        self,
        *,
        dry_run: Literal[True],
        app_code: str,
        permission_id: str,
        if_revision: str | None = None,
    ) -> Answer[DeletePermissionDryRun]: ...

    @overload
    def delete_permission(
        self,
        *,
        app_code: str,
        permission_id: str,
        if_revision: str | None = None,
        dry_run: Literal[False] | None = None,
    ) -> Answer[None]: ...

    @strictly
    def delete_permission(
        self,
        *,
        app_code: str,
        permission_id: str,
        dry_run: bool | None = None,
        if_revision: str | None = None,
    ) -> Answer[Any]:
        """Delete a permission.

        Removes it from roles and deletes its overrides; its children lose their parent.

        Needs the bearer token of a SuperAdmin, an app admin of the application, or a panel user with level `edit` on it.
        """
        return self._call(
            "DELETE",
            "/api/applications/{app_code}/permissions/{permission_id}",
            {"app_code": app_code, "permission_id": permission_id},
            {"dryRun": dry_run},
            {"usher-if-revision": if_revision},
            None,
        )

    @strictly
    def get_vapid_key(self) -> Answer[GetVapidKeyAnswer]:
        """Get the key that browsers subscribe with.

        `applicationServerKey` of `pushManager.subscribe`. In production 503 where no keys are configured.

        Needs an active user's bearer token.
        """
        return self._call(
            "GET",
            "/api/profile/me/push/vapid-key",
            {},
            {},
            {},
            None,
        )

    @strictly
    def subscribe_to_pushes(self, *, body: SubscribeToPushesBody) -> Answer[PushSubscription]:
        """Subscribe this browser to pushes.

        Send what `pushManager.subscribe` returned. The same endpoint again updates its subscription (200); it moves from another user when both keys are the same. At most 20 per user: the least recently used one is removed.

        Needs an active user's bearer token.
        """
        return self._call(
            "POST",
            "/api/profile/me/push/subscribe",
            {},
            {},
            {},
            body,
        )

    @strictly
    def unsubscribe_from_pushes(
        self,
        *,
        body: UnsubscribeFromPushesBody,
    ) -> Answer[UnsubscribeFromPushesAnswer]:
        """Unsubscribe an endpoint from pushes.

        Needs an active user's bearer token.
        """
        return self._call(
            "POST",
            "/api/profile/me/push/unsubscribe",
            {},
            {},
            {},
            body,
        )

    @strictly
    def list_my_push_subscriptions(self) -> Answer[list[PushSubscription]]:
        """List my subscribed browsers.

        Needs an active user's bearer token.
        """
        return self._call(
            "GET",
            "/api/profile/me/push/subscriptions",
            {},
            {},
            {},
            None,
        )

    @strictly
    def delete_my_push_subscription(self, *, id: str) -> Answer[None]:
        """Unsubscribe one of my browsers from pushes.

        Needs an active user's bearer token.
        """
        return self._call(
            "DELETE",
            "/api/profile/me/push/subscriptions/{id}",
            {"id": id},
            {},
            {},
            None,
        )

    @strictly
    def list_roles(self, *, app_code: str) -> Answer[list[Role]]:
        """All roles of an application.

        Needs the bearer token of a SuperAdmin, an app admin of the application, or a panel user with level `view` on it.
        """
        return self._call(
            "GET",
            "/api/applications/{app_code}/roles",
            {"app_code": app_code},
            {},
            {},
            None,
        )

    @overload
    def create_role(
        self,
        *,
        dry_run: Literal[True],
        app_code: str,
        body: CreateRoleBody,
        if_revision: str | None = None,
    ) -> Answer[CreateRoleDryRun]: ...

    @overload
    def create_role(
        self,
        *,
        app_code: str,
        body: CreateRoleBody,
        if_revision: str | None = None,
        dry_run: Literal[False] | None = None,
    ) -> Answer[Role]: ...

    @strictly
    def create_role(
        self,
        *,
        app_code: str,
        body: CreateRoleBody,
        dry_run: bool | None = None,
        if_revision: str | None = None,
    ) -> Answer[Any]:
        """Create a role.

        Needs the bearer token of a SuperAdmin, an app admin of the application, or a panel user with level `edit` on it.
        """
        return self._call(
            "POST",
            "/api/applications/{app_code}/roles",
            {"app_code": app_code},
            {"dryRun": dry_run},
            {"usher-if-revision": if_revision},
            body,
        )

    @overload
    def update_role(
        self,
        *,
        dry_run: Literal[True],
        app_code: str,
        role_id: str,
        body: UpdateRoleBody,
        if_revision: str | None = None,
    ) -> Answer[UpdateRoleDryRun]: ...

    @overload
    def update_role(
        self,
        *,
        app_code: str,
        role_id: str,
        body: UpdateRoleBody,
        if_revision: str | None = None,
        dry_run: Literal[False] | None = None,
    ) -> Answer[Role]: ...

    @strictly
    def update_role(
        self,
        *,
        app_code: str,
        role_id: str,
        body: UpdateRoleBody,
        dry_run: bool | None = None,
        if_revision: str | None = None,
    ) -> Answer[Any]:
        """Change a role.

        Needs the bearer token of a SuperAdmin, an app admin of the application, or a panel user with level `edit` on it.
        """
        return self._call(
            "PUT",
            "/api/applications/{app_code}/roles/{role_id}",
            {"app_code": app_code, "role_id": role_id},
            {"dryRun": dry_run},
            {"usher-if-revision": if_revision},
            body,
        )

    @overload
    def delete_role(
        self,
        *,
        dry_run: Literal[True],
        app_code: str,
        role_id: str,
        if_revision: str | None = None,
    ) -> Answer[DeleteRoleDryRun]: ...

    @overload
    def delete_role(
        self,
        *,
        app_code: str,
        role_id: str,
        if_revision: str | None = None,
        dry_run: Literal[False] | None = None,
    ) -> Answer[None]: ...

    @strictly
    def delete_role(
        self,
        *,
        app_code: str,
        role_id: str,
        dry_run: bool | None = None,
        if_revision: str | None = None,
    ) -> Answer[Any]:
        """Delete a role.

        Its assignments end with it.

        Needs the bearer token of a SuperAdmin, an app admin of the application, or a panel user with level `edit` on it.
        """
        return self._call(
            "DELETE",
            "/api/applications/{app_code}/roles/{role_id}",
            {"app_code": app_code, "role_id": role_id},
            {"dryRun": dry_run},
            {"usher-if-revision": if_revision},
            None,
        )

    @strictly
    def list_role_permissions(self, *, app_code: str, role_id: str) -> Answer[RolePermission]:
        """List the permissions of a role.

        Needs the bearer token of a SuperAdmin, an app admin of the application, or a panel user with level `view` on it.
        """
        return self._call(
            "GET",
            "/api/applications/{app_code}/roles/{role_id}/permissions",
            {"app_code": app_code, "role_id": role_id},
            {},
            {},
            None,
        )

    @overload
    def replace_role_permissions(
        self,
        *,
        dry_run: Literal[True],
        app_code: str,
        role_id: str,
        body: ReplaceRolePermissionsBody,
        if_match: str | None = None,
        if_revision: str | None = None,
    ) -> Answer[ReplaceRolePermissionsDryRun]: ...

    @overload
    def replace_role_permissions(
        self,
        *,
        app_code: str,
        role_id: str,
        body: ReplaceRolePermissionsBody,
        if_match: str | None = None,
        if_revision: str | None = None,
        dry_run: Literal[False] | None = None,
    ) -> Answer[RolePermission]: ...

    @strictly
    def replace_role_permissions(
        self,
        *,
        app_code: str,
        role_id: str,
        body: ReplaceRolePermissionsBody,
        dry_run: bool | None = None,
        if_match: str | None = None,
        if_revision: str | None = None,
    ) -> Answer[Any]:
        """Replace the permissions of a role.

        Needs the bearer token of a SuperAdmin, an app admin of the application, or a panel user with level `edit` on it.
        """
        return self._call(
            "PUT",
            "/api/applications/{app_code}/roles/{role_id}/permissions",
            {"app_code": app_code, "role_id": role_id},
            {"dryRun": dry_run},
            {"if-match": if_match, "usher-if-revision": if_revision},
            body,
        )

    @strictly
    def get_matrix(self, *, app_code: str) -> Answer[Matrix]:
        """What every role of an application grants.

        Permissions and roles by code, the number of people who hold each role, and the levels, all of one moment.

        Needs the bearer token of a SuperAdmin, an app admin of the application, or a panel user with level `view` on it.
        """
        return self._call(
            "GET",
            "/api/applications/{app_code}/matrix",
            {"app_code": app_code},
            {},
            {},
            None,
        )

    @overload
    def update_matrix(
        self,
        *,
        dry_run: Literal[True],
        app_code: str,
        body: UpdateMatrixBody,
        if_match: str | None = None,
        if_revision: str | None = None,
    ) -> Answer[UpdateMatrixDryRun]: ...

    @overload
    def update_matrix(
        self,
        *,
        app_code: str,
        body: UpdateMatrixBody,
        if_match: str | None = None,
        if_revision: str | None = None,
        dry_run: Literal[False] | None = None,
    ) -> Answer[Matrix]: ...

    @strictly
    def update_matrix(
        self,
        *,
        app_code: str,
        body: UpdateMatrixBody,
        dry_run: bool | None = None,
        if_match: str | None = None,
        if_revision: str | None = None,
    ) -> Answer[Any]:
        """Change what roles grant.

        Changes the levels sent, in one transaction, and keeps the others. With `If-Match`: 412 STALE when permissions, roles or levels have changed since they were read; the number of holders does not count.

        Needs the bearer token of a SuperAdmin, an app admin of the application, or a panel user with level `edit` on it.
        """
        return self._call(
            "PUT",
            "/api/applications/{app_code}/matrix",
            {"app_code": app_code},
            {"dryRun": dry_run},
            {"if-match": if_match, "usher-if-revision": if_revision},
            body,
        )

    @strictly
    def list_languages(self) -> Answer[list[Language]]:
        """All languages.

        Needs an active user's bearer token.
        """
        return self._call(
            "GET",
            "/api/languages",
            {},
            {},
            {},
            None,
        )

    @strictly
    def create_language(self, *, body: CreateLanguageBody) -> Answer[Language]:
        """Add a language.

        Needs the bearer token of a SuperAdmin.
        """
        return self._call(
            "POST",
            "/api/languages",
            {},
            {},
            {},
            body,
        )

    @strictly
    def update_language(self, *, code: str, body: UpdateLanguageBody) -> Answer[Language]:
        """Change a language.

        Needs the bearer token of a SuperAdmin.
        """
        return self._call(
            "PUT",
            "/api/languages/{code}",
            {"code": code},
            {},
            {},
            body,
        )

    @strictly
    def delete_language(self, *, code: str) -> Answer[None]:
        """Remove a language.

        Refused while a profile, an application, a template or another language's fallback names it.

        Needs the bearer token of a SuperAdmin.
        """
        return self._call(
            "DELETE",
            "/api/languages/{code}",
            {"code": code},
            {},
            {},
            None,
        )

    @strictly
    def list_user_roles(self, *, email: str, app_code: str) -> Answer[list[AssignedRole]]:
        """The roles of a user in an application.

        Needs the bearer token of a SuperAdmin, an app admin of the application, or a panel user with level `view` on it.
        """
        return self._call(
            "GET",
            "/api/users/{email}/apps/{app_code}/roles",
            {"email": email, "app_code": app_code},
            {},
            {},
            None,
        )

    @overload
    def replace_user_roles(
        self,
        *,
        dry_run: Literal[True],
        email: str,
        app_code: str,
        body: ReplaceUserRolesBody,
        if_match: str | None = None,
        if_revision: str | None = None,
    ) -> Answer[ReplaceUserRolesDryRun]: ...

    @overload
    def replace_user_roles(
        self,
        *,
        email: str,
        app_code: str,
        body: ReplaceUserRolesBody,
        if_match: str | None = None,
        if_revision: str | None = None,
        dry_run: Literal[False] | None = None,
    ) -> Answer[list[AssignedRole]]: ...

    @strictly
    def replace_user_roles(
        self,
        *,
        email: str,
        app_code: str,
        body: ReplaceUserRolesBody,
        dry_run: bool | None = None,
        if_match: str | None = None,
        if_revision: str | None = None,
    ) -> Answer[Any]:
        """Replace the roles of a user in an application.

        Works before the user has a record. A role that is held keeps its window, unless the item sends another one. In `auth` only SuperAdmins; a manager of every application may give and take the roles `application_manager` and `panel_admin` there, if they are allowed everything that the change allows.

        Needs the bearer token of a SuperAdmin, an app admin of the application, or a panel user with level `edit` on it.
        """
        return self._call(
            "PUT",
            "/api/users/{email}/apps/{app_code}/roles",
            {"email": email, "app_code": app_code},
            {"dryRun": dry_run},
            {"if-match": if_match, "usher-if-revision": if_revision},
            body,
        )

    @overload
    def assign_role(
        self,
        *,
        dry_run: Literal[True],
        email: str,
        app_code: str,
        body: AssignRoleBody,
        if_revision: str | None = None,
    ) -> Answer[AssignRoleDryRun]: ...

    @overload
    def assign_role(
        self,
        *,
        email: str,
        app_code: str,
        body: AssignRoleBody,
        if_revision: str | None = None,
        dry_run: Literal[False] | None = None,
    ) -> Answer[AssignedRole]: ...

    @strictly
    def assign_role(
        self,
        *,
        email: str,
        app_code: str,
        body: AssignRoleBody,
        dry_run: bool | None = None,
        if_revision: str | None = None,
    ) -> Answer[Any]:
        """Give a user one role in an application.

        Keeps the other roles, even under concurrent writes; 200 when the user already holds the role: then a window that is sent is changed. Works before the user has a record. In `auth` only SuperAdmins, and managers of every application within the same limits as for the replacement.

        Needs the bearer token of a SuperAdmin, an app admin of the application, or a panel user with level `edit` on it.
        """
        return self._call(
            "POST",
            "/api/users/{email}/apps/{app_code}/roles",
            {"email": email, "app_code": app_code},
            {"dryRun": dry_run},
            {"usher-if-revision": if_revision},
            body,
        )

    @overload
    def revoke_role(
        self,
        *,
        dry_run: Literal[True],
        email: str,
        app_code: str,
        role_code: str,
        if_revision: str | None = None,
    ) -> Answer[RevokeRoleDryRun]: ...

    @overload
    def revoke_role(
        self,
        *,
        email: str,
        app_code: str,
        role_code: str,
        if_revision: str | None = None,
        dry_run: Literal[False] | None = None,
    ) -> Answer[None]: ...

    @strictly
    def revoke_role(
        self,
        *,
        email: str,
        app_code: str,
        role_code: str,
        dry_run: bool | None = None,
        if_revision: str | None = None,
    ) -> Answer[Any]:
        """Take one role in an application from a user.

        Leaves the other roles alone, even under concurrent writes. 404 when the user does not hold it.

        Needs the bearer token of a SuperAdmin, an app admin of the application, or a panel user with level `edit` on it.
        """
        return self._call(
            "DELETE",
            "/api/users/{email}/apps/{app_code}/roles/{role_code}",
            {"email": email, "app_code": app_code, "role_code": role_code},
            {"dryRun": dry_run},
            {"usher-if-revision": if_revision},
            None,
        )

    @strictly
    def list_role_holders(
        self,
        *,
        app_code: str,
        role_id: str,
        limit: int | None = None,
        cursor: str | None = None,
        q: str | None = None,
    ) -> Answer[list[RoleHolder]]:
        """List the holders of a role.

        Needs the bearer token of a SuperAdmin, an app admin of the application, or a panel user with level `view` on it.
        """
        return self._call(
            "GET",
            "/api/applications/{app_code}/roles/{role_id}/users",
            {"app_code": app_code, "role_id": role_id},
            {"limit": limit, "cursor": cursor, "q": q},
            {},
            None,
        )

    @overload
    def change_role_holders(
        self,
        *,
        dry_run: Literal[True],
        app_code: str,
        role_id: str,
        body: ChangeRoleHoldersBody,
        if_revision: str | None = None,
    ) -> Answer[ChangeRoleHoldersDryRun]: ...

    @overload
    def change_role_holders(
        self,
        *,
        app_code: str,
        role_id: str,
        body: ChangeRoleHoldersBody,
        if_revision: str | None = None,
        dry_run: Literal[False] | None = None,
    ) -> Answer[ChangeRoleHoldersAnswer]: ...

    @strictly
    def change_role_holders(
        self,
        *,
        app_code: str,
        role_id: str,
        body: ChangeRoleHoldersBody,
        dry_run: bool | None = None,
        if_revision: str | None = None,
    ) -> Answer[Any]:
        """Give a role to people, and take it from others.

        In one transaction. Works before they have records. Of people who already hold the role a window that is sent is changed; others, and those who do not hold what is taken away, stay as they are and are not counted. In `auth` only SuperAdmins, and managers of every application within the same limits as for the roles of one user.

        Needs the bearer token of a SuperAdmin, an app admin of the application, or a panel user with level `edit` on it.
        """
        return self._call(
            "POST",
            "/api/applications/{app_code}/roles/{role_id}/users",
            {"app_code": app_code, "role_id": role_id},
            {"dryRun": dry_run},
            {"usher-if-revision": if_revision},
            body,
        )

    @strictly
    def list_record_overrides(
        self,
        *,
        email: str,
        app_code: str,
        resource_type: str,
        resource_id: str,
    ) -> Answer[ResourceOverrides]:
        """The overrides of a user for one record.

        Needs the bearer token of a SuperAdmin, an app admin of the application, or a panel user with level `view` on it.
        """
        return self._call(
            "GET",
            "/api/users/{email}/apps/{app_code}/resources/{resource_type}/{resource_id}/permissions",
            {"email": email, "app_code": app_code, "resource_type": resource_type, "resource_id": resource_id},
            {},
            {},
            None,
        )

    @overload
    def replace_record_overrides(
        self,
        *,
        dry_run: Literal[True],
        email: str,
        app_code: str,
        resource_type: str,
        resource_id: str,
        body: ReplaceRecordOverridesBody,
        if_match: str | None = None,
        if_revision: str | None = None,
    ) -> Answer[ReplaceRecordOverridesDryRun]: ...

    @overload
    def replace_record_overrides(
        self,
        *,
        email: str,
        app_code: str,
        resource_type: str,
        resource_id: str,
        body: ReplaceRecordOverridesBody,
        if_match: str | None = None,
        if_revision: str | None = None,
        dry_run: Literal[False] | None = None,
    ) -> Answer[ResourceOverrides]: ...

    @strictly
    def replace_record_overrides(
        self,
        *,
        email: str,
        app_code: str,
        resource_type: str,
        resource_id: str,
        body: ReplaceRecordOverridesBody,
        dry_run: bool | None = None,
        if_match: str | None = None,
        if_revision: str | None = None,
    ) -> Answer[Any]:
        """Replace the overrides of a user for one record.

        An empty list removes all of them. One that stands keeps its window, unless another one is sent. A granting override of a tiered permission has a level, by default `edit`; a denying one has none. In `auth` only SuperAdmins; a manager of every application may write overrides of `applications.manage` for `application` there, for every application on which they have `edit` themselves.

        Needs the bearer token of a SuperAdmin, an app admin of the application, or a panel user with level `edit` on it.
        """
        return self._call(
            "PUT",
            "/api/users/{email}/apps/{app_code}/resources/{resource_type}/{resource_id}/permissions",
            {"email": email, "app_code": app_code, "resource_type": resource_type, "resource_id": resource_id},
            {"dryRun": dry_run},
            {"if-match": if_match, "usher-if-revision": if_revision},
            body,
        )

    @strictly
    def list_user_overrides(
        self,
        *,
        email: str,
        app_code: str,
        limit: int | None = None,
        cursor: str | None = None,
        q: str | None = None,
    ) -> Answer[list[PlacedOverride]]:
        """Every override of a user in an application.

        Needs the bearer token of a SuperAdmin, an app admin of the application, or a panel user with level `view` on it.
        """
        return self._call(
            "GET",
            "/api/users/{email}/apps/{app_code}/resources",
            {"email": email, "app_code": app_code},
            {"limit": limit, "cursor": cursor, "q": q},
            {},
            None,
        )

    @strictly
    def list_overrides(
        self,
        *,
        app_code: str,
        limit: int | None = None,
        cursor: str | None = None,
        resource_type: str | None = None,
        resource_id: str | None = None,
        email: str | None = None,
        permission: str | None = None,
        ending_within_days: str | None = None,
    ) -> Answer[list[Override]]:
        """The overrides of everybody in an application.

        By permission, record and person. Filters narrow the list together; a `resourceId` needs its `resourceType`.

        Needs the bearer token of a SuperAdmin, an app admin of the application, or a panel user with level `view` on it.
        """
        return self._call(
            "GET",
            "/api/applications/{app_code}/overrides",
            {"app_code": app_code},
            {"limit": limit, "cursor": cursor, "resourceType": resource_type, "resourceId": resource_id, "email": email, "permission": permission, "endingWithinDays": ending_within_days},
            {},
            None,
        )

    @overload
    def delete_overrides(
        self,
        *,
        dry_run: Literal[True],
        app_code: str,
        body: DeleteOverridesBody,
        if_revision: str | None = None,
    ) -> Answer[DeleteOverridesDryRun]: ...

    @overload
    def delete_overrides(
        self,
        *,
        app_code: str,
        body: DeleteOverridesBody,
        if_revision: str | None = None,
        dry_run: Literal[False] | None = None,
    ) -> Answer[DeleteOverridesAnswer]: ...

    @strictly
    def delete_overrides(
        self,
        *,
        app_code: str,
        body: DeleteOverridesBody,
        dry_run: bool | None = None,
        if_revision: str | None = None,
    ) -> Answer[Any]:
        """Delete overrides of any people.

        In one transaction. An override that does not exist is not counted. In `auth` only SuperAdmins, and managers of every application within the same limits as for the overrides of one user.

        Needs the bearer token of a SuperAdmin, an app admin of the application, or a panel user with level `edit` on it.
        """
        return self._call(
            "POST",
            "/api/applications/{app_code}/overrides/delete",
            {"app_code": app_code},
            {"dryRun": dry_run},
            {"usher-if-revision": if_revision},
            body,
        )

    @strictly
    def list_app_admins(self, *, app_code: str) -> Answer[list[ApplicationAdministrator]]:
        """List the app admins of an application.

        Needs the bearer token of a SuperAdmin, an app admin of the application, or a panel user with level `view` on it.
        """
        return self._call(
            "GET",
            "/api/users/admins/apps/{app_code}",
            {"app_code": app_code},
            {},
            {},
            None,
        )

    @overload
    def add_app_admin(
        self,
        *,
        dry_run: Literal[True],
        app_code: str,
        body: ApplicationAdministratorFields,
        if_revision: str | None = None,
    ) -> Answer[AddAppAdminDryRun]: ...

    @overload
    def add_app_admin(
        self,
        *,
        app_code: str,
        body: ApplicationAdministratorFields,
        if_revision: str | None = None,
        dry_run: Literal[False] | None = None,
    ) -> Answer[ApplicationAdministrator]: ...

    @strictly
    def add_app_admin(
        self,
        *,
        app_code: str,
        body: ApplicationAdministratorFields,
        dry_run: bool | None = None,
        if_revision: str | None = None,
    ) -> Answer[Any]:
        """Add an app admin to an application.

        200 if they are one already: then a window that is sent is changed.

        Needs the bearer token of a SuperAdmin, an app admin of the application, or a panel user with level `edit` on it.
        """
        return self._call(
            "POST",
            "/api/users/admins/apps/{app_code}",
            {"app_code": app_code},
            {"dryRun": dry_run},
            {"usher-if-revision": if_revision},
            body,
        )

    @overload
    def remove_app_admin(
        self,
        *,
        dry_run: Literal[True],
        app_code: str,
        email: str,
        if_revision: str | None = None,
    ) -> Answer[RemoveAppAdminDryRun]: ...

    @overload
    def remove_app_admin(
        self,
        *,
        app_code: str,
        email: str,
        if_revision: str | None = None,
        dry_run: Literal[False] | None = None,
    ) -> Answer[None]: ...

    @strictly
    def remove_app_admin(
        self,
        *,
        app_code: str,
        email: str,
        dry_run: bool | None = None,
        if_revision: str | None = None,
    ) -> Answer[Any]:
        """Remove an app admin from an application.

        Needs the bearer token of a SuperAdmin, an app admin of the application, or a panel user with level `edit` on it.
        """
        return self._call(
            "DELETE",
            "/api/users/admins/apps/{app_code}/{email}",
            {"app_code": app_code, "email": email},
            {"dryRun": dry_run},
            {"usher-if-revision": if_revision},
            None,
        )

    @strictly
    def list_super_admins(self) -> Answer[list[SuperAdmin]]:
        """All SuperAdmins.

        Needs the bearer token of a SuperAdmin.
        """
        return self._call(
            "GET",
            "/api/users/admins/super",
            {},
            {},
            {},
            None,
        )

    @overload
    def add_super_admin(
        self,
        *,
        dry_run: Literal[True],
        body: NewAdministrator,
        if_revision: str | None = None,
    ) -> Answer[AddSuperAdminDryRun]: ...

    @overload
    def add_super_admin(
        self,
        *,
        body: NewAdministrator,
        if_revision: str | None = None,
        dry_run: Literal[False] | None = None,
    ) -> Answer[SuperAdmin]: ...

    @strictly
    def add_super_admin(
        self,
        *,
        body: NewAdministrator,
        dry_run: bool | None = None,
        if_revision: str | None = None,
    ) -> Answer[Any]:
        """Add a SuperAdmin.

        200 if they are one already.

        Needs the bearer token of a SuperAdmin.
        """
        return self._call(
            "POST",
            "/api/users/admins/super",
            {},
            {"dryRun": dry_run},
            {"usher-if-revision": if_revision},
            body,
        )

    @overload
    def remove_super_admin(
        self,
        *,
        dry_run: Literal[True],
        email: str,
        if_revision: str | None = None,
    ) -> Answer[RemoveSuperAdminDryRun]: ...

    @overload
    def remove_super_admin(
        self,
        *,
        email: str,
        if_revision: str | None = None,
        dry_run: Literal[False] | None = None,
    ) -> Answer[None]: ...

    @strictly
    def remove_super_admin(
        self,
        *,
        email: str,
        dry_run: bool | None = None,
        if_revision: str | None = None,
    ) -> Answer[Any]:
        """Remove a SuperAdmin.

        The last active one cannot be removed.

        Needs the bearer token of a SuperAdmin.
        """
        return self._call(
            "DELETE",
            "/api/users/admins/super/{email}",
            {"email": email},
            {"dryRun": dry_run},
            {"usher-if-revision": if_revision},
            None,
        )

    @strictly
    def list_users(
        self,
        *,
        limit: int | None = None,
        cursor: str | None = None,
        q: str | None = None,
        active: bool | None = None,
        app_code: str | None = None,
        role: str | None = None,
        permission: str | None = None,
        orphan: Literal["true"] | None = None,
        ending_within_days: str | None = None,
        sort: Literal["email", "createdAt", "lastLoginAt"] | None = None,
    ) -> Answer[list[User]]:
        """Known addresses.

        In the order in which they were first mentioned, or sorted. Filters narrow the list together. Callers other than SuperAdmins see users of the applications that they may view: with a role, an override, preferences, a login or the administration of one.

        Needs the bearer token of a SuperAdmin, an app admin of any application, or a panel user.
        """
        return self._call(
            "GET",
            "/api/users",
            {},
            {"limit": limit, "cursor": cursor, "q": q, "active": active, "appCode": app_code, "role": role, "permission": permission, "orphan": orphan, "endingWithinDays": ending_within_days, "sort": sort},
            {},
            None,
        )

    @strictly
    def get_user(self, *, email: str) -> Answer[UserDetail]:
        """A user with logins and roles.

        Limited to the applications that the caller may view; the user must be in one of them.

        Needs the bearer token of a SuperAdmin, an app admin of any application, or a panel user.
        """
        return self._call(
            "GET",
            "/api/users/{email}",
            {"email": email},
            {},
            {},
            None,
        )

    @overload
    def set_user_active(
        self,
        *,
        dry_run: Literal[True],
        email: str,
        body: SetUserActiveBody,
        if_revision: str | None = None,
    ) -> Answer[SetUserActiveDryRun]: ...

    @overload
    def set_user_active(
        self,
        *,
        email: str,
        body: SetUserActiveBody,
        if_revision: str | None = None,
        dry_run: Literal[False] | None = None,
    ) -> Answer[User]: ...

    @strictly
    def set_user_active(
        self,
        *,
        email: str,
        body: SetUserActiveBody,
        dry_run: bool | None = None,
        if_revision: str | None = None,
    ) -> Answer[Any]:
        """Block or unblock a user.

        A user is active when active at the identity provider and not blocked by an administrator. This sets the second flag and leaves the first as it is.

        Needs the bearer token of a SuperAdmin.
        """
        return self._call(
            "PUT",
            "/api/users/{email}/active",
            {"email": email},
            {"dryRun": dry_run},
            {"usher-if-revision": if_revision},
            body,
        )

    @strictly
    def forget_user_account(self, *, email: str) -> Answer[None]:
        """Forget which account of the identity provider an address belongs to.

        The next token of that address binds it again.

        Needs the bearer token of a SuperAdmin.
        """
        return self._call(
            "DELETE",
            "/api/users/{email}/subject",
            {"email": email},
            {},
            {},
            None,
        )

    @strictly
    def set_user_account(self, *, email: str, body: SetUserAccountBody) -> Answer[UserAccount]:
        """Name the account of the identity provider that an address belongs to.

        Where accounts are bound, only tokens of this account are admitted with this address, and they may use its administrative rights.

        Needs the bearer token of a SuperAdmin.
        """
        return self._call(
            "PUT",
            "/api/users/{email}/account",
            {"email": email},
            {},
            {},
            body,
        )

    @strictly
    def get_my_admin_status(self) -> Answer[AdminStatus]:
        """Show what I may administer.

        Needs an active user's bearer token.
        """
        return self._call(
            "GET",
            "/api/profile/me/admin-status",
            {},
            {},
            {},
            None,
        )

    @strictly
    def import_users(
        self,
        *,
        body: ImportUsersBody,
        dry_run: bool | None = None,
    ) -> Answer[ImportResult]:
        """Import people.

        Makes the people who are missing, at most 500 in one transaction, and changes the others where the list says something else; repeated it changes nothing. Names are taken only where nobody has changed them. What is absent stays; roles are given and never taken. Every fault is told at once, unknown roles, brands and languages among them.

        Needs the bearer token of a SuperAdmin. Or an internal API key with the scopes `profile` and `manifest`, which is not for browsers.
        """
        return self._call(
            "POST",
            "/api/users/import",
            {},
            {"dryRun": dry_run},
            {},
            body,
        )

    @strictly
    def export_my_data(self) -> Answer[PersonalData]:
        """Everything that is stored about me.

        One JSON document, sent in pieces: profile, roles, overrides, administration, preferences, push subscriptions without their keys, logins, notifications with their deliveries, audit records. An answer that breaks off is not valid JSON.

        Needs an active user's bearer token.
        """
        return self._call(
            "GET",
            "/api/profile/me/export",
            {},
            {},
            {},
            None,
        )

    @strictly
    def export_user_data(self, *, email: str) -> Answer[PersonalData]:
        """Everything that is stored about a person.

        One JSON document, sent in pieces: profile, roles, overrides, administration, preferences, push subscriptions without their keys, logins, notifications with their deliveries, audit records. An answer that breaks off is not valid JSON.

        Needs the bearer token of a SuperAdmin.
        """
        return self._call(
            "GET",
            "/api/users/{email}/export",
            {"email": email},
            {},
            {},
            None,
        )

    @overload
    def erase_user(
        self,
        *,
        dry_run: Literal[True],
        email: str,
        if_revision: str | None = None,
    ) -> Answer[EraseUserDryRun]: ...

    @overload
    def erase_user(
        self,
        *,
        email: str,
        if_revision: str | None = None,
        dry_run: Literal[False] | None = None,
    ) -> Answer[ErasureReceipt]: ...

    @strictly
    def erase_user(
        self,
        *,
        email: str,
        dry_run: bool | None = None,
        if_revision: str | None = None,
    ) -> Answer[Any]:
        """Erase a person.

        Every right ends in one transaction; the rest follows, and the answer comes when nothing is left. Audit records stay, with a pseudonym in place of the address. Repeated, it answers the receipt again. After 503 the rights may have ended already: repeat it.

        Needs the bearer token of a SuperAdmin.
        """
        return self._call(
            "POST",
            "/api/users/{email}/erase",
            {"email": email},
            {"dryRun": dry_run},
            {"usher-if-revision": if_revision},
            None,
        )

    @overload
    def move_user(
        self,
        *,
        dry_run: Literal[True],
        email: str,
        body: MoveUserBody,
        if_revision: str | None = None,
    ) -> Answer[MoveUserDryRun]: ...

    @overload
    def move_user(
        self,
        *,
        email: str,
        body: MoveUserBody,
        if_revision: str | None = None,
        dry_run: Literal[False] | None = None,
    ) -> Answer[Moved]: ...

    @strictly
    def move_user(
        self,
        *,
        email: str,
        body: MoveUserBody,
        dry_run: bool | None = None,
        if_revision: str | None = None,
    ) -> Answer[Any]:
        """Move a person to another address.

        In one transaction, and one change of the policy: roles, overrides, seats, being a SuperAdmin, profile, preferences, subscriptions, inbox and accounts. A bare profile at the new address is replaced; the old address stays, inactive, with `movedTo`.

        Needs the bearer token of a SuperAdmin.
        """
        return self._call(
            "POST",
            "/api/users/{email}/move",
            {"email": email},
            {"dryRun": dry_run},
            {"usher-if-revision": if_revision},
            body,
        )

    @overload
    def offboard_user(
        self,
        *,
        dry_run: Literal[True],
        email: str,
        if_revision: str | None = None,
        body: OffboardUserBody | None = None,
    ) -> Answer[OffboardUserDryRun]: ...

    @overload
    def offboard_user(
        self,
        *,
        email: str,
        if_revision: str | None = None,
        body: OffboardUserBody | None = None,
        dry_run: Literal[False] | None = None,
    ) -> Answer[Offboarded]: ...

    @strictly
    def offboard_user(
        self,
        *,
        email: str,
        dry_run: bool | None = None,
        if_revision: str | None = None,
        body: OffboardUserBody | None = None,
    ) -> Answer[Any]:
        """Block a person and end every right.

        In one transaction: blocked, no SuperAdmin, no roles, overrides or administration of applications. `handOverTo` becomes an administrator of the same applications. Profile, inbox and preferences stay. Repeated it changes nothing.

        Needs the bearer token of a SuperAdmin.
        """
        return self._call(
            "POST",
            "/api/users/{email}/offboard",
            {"email": email},
            {"dryRun": dry_run},
            {"usher-if-revision": if_revision},
            body,
        )

    @strictly
    def list_my_access(self, *, min_revision: str | None = None) -> Answer[Access]:
        """List my access in every application.

        Roles, permissions that need no record, overrides, and the last login.

        Needs an active user's bearer token.
        """
        return self._call(
            "GET",
            "/api/profile/me/access",
            {},
            {},
            {"usher-min-revision": min_revision},
            None,
        )

    @strictly
    def list_user_access(self, *, email: str, min_revision: str | None = None) -> Answer[Access]:
        """List the access of a user in every application.

        Roles, permissions that need no record, overrides, and the last login, in the applications that the caller may view; others are left out.

        Needs the bearer token of a SuperAdmin, an app admin of any application, or a panel user.
        """
        return self._call(
            "GET",
            "/api/users/{email}/access",
            {"email": email},
            {},
            {"usher-min-revision": min_revision},
            None,
        )

    @strictly
    def search(self, *, q: str) -> Answer[SearchAnswer]:
        """Search people, applications, roles and permissions.

        The best five of each kind, cut to what the caller may see: exact matches first, then those that begin with the text, then those that contain it. People are found by address or name, applications by code or name, roles and permissions by code.

        Needs the bearer token of a SuperAdmin, an app admin of any application, or a panel user.
        """
        return self._call(
            "GET",
            "/api/search",
            {},
            {"q": q},
            {},
            None,
        )

    @strictly
    def list_audit(
        self,
        *,
        limit: int | None = None,
        cursor: str | None = None,
        app_code: str | None = None,
        actor: str | None = None,
        subject: str | None = None,
        action: str | None = None,
        person: str | None = None,
        action_prefix: str | None = None,
        q: str | None = None,
        from_: str | None = None,
        to: str | None = None,
    ) -> Answer[list[AuditRecord]]:
        """All records, the newest first.

        Needs the bearer token of a SuperAdmin.
        """
        return self._call(
            "GET",
            "/api/admin/audit",
            {},
            {"limit": limit, "cursor": cursor, "appCode": app_code, "actor": actor, "subject": subject, "action": action, "person": person, "actionPrefix": action_prefix, "q": q, "from": from_, "to": to},
            {},
            None,
        )

    @strictly
    def list_application_audit(
        self,
        *,
        app_code: str,
        limit: int | None = None,
        cursor: str | None = None,
        actor: str | None = None,
        subject: str | None = None,
        action: str | None = None,
        person: str | None = None,
        action_prefix: str | None = None,
        q: str | None = None,
        from_: str | None = None,
        to: str | None = None,
    ) -> Answer[list[AuditRecord]]:
        """The records of an application, the newest first.

        Needs the bearer token of a SuperAdmin, an app admin of the application, or a panel user with level `view` on it.
        """
        return self._call(
            "GET",
            "/api/applications/{app_code}/audit",
            {"app_code": app_code},
            {"limit": limit, "cursor": cursor, "actor": actor, "subject": subject, "action": action, "person": person, "actionPrefix": action_prefix, "q": q, "from": from_, "to": to},
            {},
            None,
        )

    @strictly
    def get_overview(self) -> Answer[Overview]:
        """The state of everything that the caller may see.

        Needs the bearer token of a SuperAdmin, an app admin of any application, or a panel user.
        """
        return self._call(
            "GET",
            "/api/admin/overview",
            {},
            {},
            {},
            None,
        )

    @strictly
    def list_keys(self) -> Answer[list[InternalKey]]:
        """The internal keys, without their values.

        In the order of the configuration of the instance that answers. A key is known by its name: another key of the same name goes on with its uses.

        Needs the bearer token of a SuperAdmin.
        """
        return self._call(
            "GET",
            "/api/admin/keys",
            {},
            {},
            {},
            None,
        )

    @strictly
    def get_config(self) -> Answer[list[ConfigurationValue]]:
        """The effective configuration, secrets masked.

        Of the instance that answers, as the command `config` prints it.

        Needs the bearer token of a SuperAdmin.
        """
        return self._call(
            "GET",
            "/api/admin/config",
            {},
            {},
            {},
            None,
        )

    @strictly
    def apply_manifest(
        self,
        *,
        body: Manifest,
        dry_run: bool | None = None,
        prune: bool | None = None,
        if_revision: str | None = None,
    ) -> Answer[ApplyManifestAnswer]:
        """Apply a manifest.

        Compares the manifest with the application and carries out the difference in one transaction; applying it twice changes nothing. An absent section is left alone; records that a section does not name stay, unless `prune` is set. Every fault is reported at once: `details.issues` with `path`, `message`, `line` and `column`. With `Accept: application/x-ndjson` lines of `{"progress": {"done", "total"}}` come first. A key with the scope `manifest` may apply everything that a SuperAdmin may, to `auth` too.

        Needs the bearer token of a SuperAdmin. Or an internal API key with the scope `manifest`, which is not for browsers.
        """
        return self._call(
            "POST",
            "/api/manifests/apply",
            {},
            {"dryRun": dry_run, "prune": prune},
            {"usher-if-revision": if_revision},
            body,
        )

    @strictly
    def apply_own_manifest(
        self,
        *,
        app_code: str,
        body: Manifest,
        dry_run: bool | None = None,
        prune: bool | None = None,
        if_revision: str | None = None,
    ) -> Answer[ApplyOwnManifestAnswer]:
        """Apply a manifest to its own application.

        As `POST /api/manifests/apply`, for the administrators of this application, who carry out at once what they may write singly. A manifest of another application is 400. One part that only a SuperAdmin may write (the type `auth_idp` and its templates) refuses the whole with 403. The application must exist.

        Needs the bearer token of a SuperAdmin, an app admin of the application, or a panel user with level `edit` on it.
        """
        return self._call(
            "POST",
            "/api/applications/{app_code}/manifest",
            {"app_code": app_code},
            {"dryRun": dry_run, "prune": prune},
            {"usher-if-revision": if_revision},
            body,
        )

    @strictly
    def export_manifest(self, *, app_code: str) -> Answer[Manifest]:
        """Export an application as a manifest.

        The input of `POST /api/manifests/apply`: applied with `prune` it restores exactly this state. In a stable order.

        Needs the bearer token of a SuperAdmin, an app admin of the application, or a panel user with level `view` on it. Or an internal API key with the scope `manifest`, which is not for browsers.
        """
        return self._call(
            "GET",
            "/api/applications/{app_code}/manifest",
            {"app_code": app_code},
            {},
            {},
            None,
        )

    @strictly
    def record_registration_locale(
        self,
        *,
        body: RecordRegistrationLocaleBody,
    ) -> Answer[RecordRegistrationLocaleAnswer]:
        """Record the language in which a user registers.

        Kept for 24 hours, for registration e-mails and the future profile. A language that the registry or the application `auth` lacks becomes `en`.

        Needs an internal API key with the scope `profile`; without configured keys that of `dataDir/internal-api-key`. Not for browsers.
        """
        return self._call(
            "PUT",
            "/api/internal/auth/registration-locale",
            {},
            {},
            {},
            body,
        )

    @strictly
    def list_provider_events(self) -> Answer[ProviderEvents]:
        """The last events and e-mails of the provider, and what came of them.

        The newest first, at most 200. No codes, links or texts of mails are stored.

        Needs the bearer token of a SuperAdmin.
        """
        return self._call(
            "GET",
            "/api/idp/admin/events",
            {},
            {},
            {},
            None,
        )

    @strictly
    def get_notification_provider(self) -> Answer[NotificationProvider]:
        """Show whether the provider sends its e-mails through this service.

        From the stored state; the provider is not queried.

        Needs the bearer token of a SuperAdmin.
        """
        return self._call(
            "GET",
            "/api/idp/admin/notification-provider",
            {},
            {},
            {},
            None,
        )

    @strictly
    def set_up_notification_provider(self) -> Answer[NotificationProvider]:
        """Make the provider send its e-mails through this service.

        Finds or creates it there, stores its signing key sealed, and activates it. Safe to repeat after a failure.

        Needs the bearer token of a SuperAdmin.
        """
        return self._call(
            "POST",
            "/api/idp/admin/notification-provider/setup",
            {},
            {},
            {},
            None,
        )

    @strictly
    def activate_notification_provider(self) -> Answer[NotificationProvider]:
        """Activate the notification provider again.

        Needs the bearer token of a SuperAdmin.
        """
        return self._call(
            "POST",
            "/api/idp/admin/notification-provider/activate",
            {},
            {},
            {},
            None,
        )

    @strictly
    def list_organizations(self) -> Answer[list[Organization]]:
        """All organizations of the provider.

        Needs the bearer token of a SuperAdmin.
        """
        return self._call(
            "GET",
            "/api/idp/admin/orgs",
            {},
            {},
            {},
            None,
        )

    @strictly
    def create_organization(self, *, body: CreateOrganizationBody) -> Answer[Organization]:
        """Create an organization at the provider.

        Needs the bearer token of a SuperAdmin.
        """
        return self._call(
            "POST",
            "/api/idp/admin/orgs",
            {},
            {},
            {},
            body,
        )

    @strictly
    def update_organization_branding(
        self,
        *,
        org_id: str,
        body: UpdateOrganizationBrandingBody,
    ) -> Answer[UpdateOrganizationBrandingAnswer]:
        """Change how an organization's login pages look.

        Changes the fields sent. The logo is fetched and passed to the provider: PNG, JPEG, GIF or WebP, at most 512 KiB.

        Needs the bearer token of a SuperAdmin.
        """
        return self._call(
            "PUT",
            "/api/idp/admin/orgs/{org_id}/branding",
            {"org_id": org_id},
            {},
            {},
            body,
        )

    @strictly
    def set_up_organization(
        self,
        *,
        org_id: str,
        body: SetUpOrganizationBody,
    ) -> Answer[SetUpOrganizationAnswer]:
        """Create a project and an OpenID Connect client for an application.

        Finds each by its name or creates it, so it is safe to repeat. The organization then belongs to the application.

        Needs the bearer token of a SuperAdmin.
        """
        return self._call(
            "POST",
            "/api/idp/admin/orgs/{org_id}/setup",
            {"org_id": org_id},
            {},
            {},
            body,
        )

    @strictly
    def set_up_provider_actions(self) -> Answer[EventActions]:
        """Make the provider send its user events to this service.

        Finds or makes a target and an execution for each type, and stores the signing key sealed. Safe to repeat after a failure; other targets of the same events stay.

        Needs the bearer token of a SuperAdmin.
        """
        return self._call(
            "POST",
            "/api/idp/admin/actions/setup",
            {},
            {},
            {},
            None,
        )

    @strictly
    def reconcile(
        self,
        *,
        dry_run: bool | None = None,
        body: ReconcileBody | None = None,
    ) -> Answer[Reconciliation]:
        """Find and apply the user events that the webhook has lost.

        Reads all users of the provider, compares them with the people here, asks for each difference by address, and applies what the webhook would have. Nothing is done where the provider's list is incomplete, or where more people would be deactivated than the brake allows. After 502 or 503 repeat it: what was applied stays.

        Needs the bearer token of a SuperAdmin.
        """
        return self._call(
            "POST",
            "/api/idp/reconcile",
            {},
            {"dryRun": dry_run},
            {},
            body,
        )

    @strictly
    def list_brands(self) -> Answer[list[Brand]]:
        """All brands.

        Needs the bearer token of a SuperAdmin, or of a user with `panel.access`.
        """
        return self._call(
            "GET",
            "/api/admin/brands",
            {},
            {},
            {},
            None,
        )

    @strictly
    def create_brand(self, *, body: CreateBrandBody) -> Answer[Brand]:
        """Create a brand.

        Needs the bearer token of a SuperAdmin.
        """
        return self._call(
            "POST",
            "/api/admin/brands",
            {},
            {},
            {},
            body,
        )

    @strictly
    def get_brand(self, *, id: str) -> Answer[Brand]:
        """One brand.

        Needs the bearer token of a SuperAdmin, or of a user with `panel.access`.
        """
        return self._call(
            "GET",
            "/api/admin/brands/{id}",
            {"id": id},
            {},
            {},
            None,
        )

    @strictly
    def update_brand(self, *, id: str, body: UpdateBrandBody) -> Answer[Brand]:
        """Change a brand.

        Changes the fields sent, also within `smtp`. `smtp: null` removes the mail server, `idpOrgId: null` the organization.

        Needs the bearer token of a SuperAdmin.
        """
        return self._call(
            "PUT",
            "/api/admin/brands/{id}",
            {"id": id},
            {},
            {},
            body,
        )

    @strictly
    def delete_brand(self, *, id: str) -> Answer[None]:
        """Delete a brand.

        Refused for the default brand and for brands that users or an organization use.

        Needs the bearer token of a SuperAdmin.
        """
        return self._call(
            "DELETE",
            "/api/admin/brands/{id}",
            {"id": id},
            {},
            {},
            None,
        )

    @strictly
    def send_brand_test_email(
        self,
        *,
        id: str,
        body: SendBrandTestEmailBody,
    ) -> Answer[SendBrandTestEmailAnswer]:
        """Send a test through a brand's mail server.

        Needs the bearer token of a SuperAdmin.
        """
        return self._call(
            "POST",
            "/api/admin/brands/{id}/test-email",
            {"id": id},
            {},
            {},
            body,
        )

    @strictly
    def remove_brand_logo(self, *, id: str) -> Answer[Brand]:
        """Remove the logo of a brand.

        Mails that were sent show the image for 90 days.

        Needs the bearer token of a SuperAdmin.
        """
        return self._call(
            "DELETE",
            "/api/admin/brands/{id}/logo",
            {"id": id},
            {},
            {},
            None,
        )

    @strictly
    def remove_brand_icon(self, *, id: str) -> Answer[Brand]:
        """Remove the icon of a brand.

        Mails that were sent show the image for 90 days.

        Needs the bearer token of a SuperAdmin.
        """
        return self._call(
            "DELETE",
            "/api/admin/brands/{id}/icon",
            {"id": id},
            {},
            {},
            None,
        )

    @strictly
    def list_brand_looks(self) -> Answer[list[BrandLook]]:
        """How the brands look.

        All brands by slug, for every administrator: what a choice of brands shows. Senders and mail servers stand in `/api/admin/brands`.

        Needs the bearer token of a SuperAdmin, an app admin of any application, or a panel user.
        """
        return self._call(
            "GET",
            "/api/brands",
            {},
            {},
            {},
            None,
        )

    @strictly
    def preview_brand(
        self,
        *,
        id: str,
        body: PreviewBrandBody,
    ) -> Answer[PreviewBrandAnswer | PreviewBrandAnswer2 | PreviewBrandAnswer3]:
        """Preview the look of a brand.

        Sample words in the look of the brand: a mail, the page behind its unsubscribe link, or a push. Nothing is sent or stored, and links and buttons lead nowhere. Fields of a look that are sent take the place of the stored ones: a draft can be seen before it is saved. A real push has the icon of its send.

        Needs the bearer token of a SuperAdmin.
        """
        return self._call(
            "POST",
            "/api/admin/brands/{id}/preview",
            {"id": id},
            {},
            {},
            body,
        )

    @strictly
    def list_refused_mails(self) -> Answer[ListRefusedMailsAnswer]:
        """The e-mails of the provider that could not be sent.

        The newest first, at most 200; kept 30 days. What they say is kept sealed until they are sent, and shown nowhere.

        Needs the bearer token of a SuperAdmin.
        """
        return self._call(
            "GET",
            "/api/idp/admin/mails",
            {},
            {},
            {},
            None,
        )

    @strictly
    def send_refused_mail(self, *, id: str) -> Answer[SendRefusedMailAnswer]:
        """Send an e-mail that was refused.

        Once, by the brand that carries its organization now, in the words of today. A code or link in it may have expired meanwhile.

        Needs the bearer token of a SuperAdmin.
        """
        return self._call(
            "POST",
            "/api/idp/admin/mails/{id}/send",
            {"id": id},
            {},
            {},
            None,
        )

    @strictly
    def list_notification_types(self, *, app_code: str) -> Answer[list[NotificationType]]:
        """All notification types of an application.

        Needs the bearer token of a SuperAdmin, an app admin of the application, or a panel user with level `view` on it.
        """
        return self._call(
            "GET",
            "/api/applications/{app_code}/notification-types",
            {"app_code": app_code},
            {},
            {},
            None,
        )

    @strictly
    def create_notification_type(
        self,
        *,
        app_code: str,
        body: CreateNotificationTypeBody,
    ) -> Answer[NotificationType]:
        """Create a notification type.

        Needs the bearer token of a SuperAdmin, an app admin of the application, or a panel user with level `edit` on it.
        """
        return self._call(
            "POST",
            "/api/applications/{app_code}/notification-types",
            {"app_code": app_code},
            {},
            {},
            body,
        )

    @strictly
    def update_notification_type(
        self,
        *,
        app_code: str,
        id: str,
        body: UpdateNotificationTypeBody,
    ) -> Answer[NotificationType]:
        """Change a notification type.

        The switches of `auth_idp`, which sends codes of the identity provider, cannot be changed.

        Needs the bearer token of a SuperAdmin, an app admin of the application, or a panel user with level `edit` on it.
        """
        return self._call(
            "PUT",
            "/api/applications/{app_code}/notification-types/{id}",
            {"app_code": app_code, "id": id},
            {},
            {},
            body,
        )

    @strictly
    def delete_notification_type(self, *, app_code: str, id: str) -> Answer[None]:
        """Delete a notification type.

        Needs the bearer token of a SuperAdmin, an app admin of the application, or a panel user with level `edit` on it.
        """
        return self._call(
            "DELETE",
            "/api/applications/{app_code}/notification-types/{id}",
            {"app_code": app_code, "id": id},
            {},
            {},
            None,
        )

    @strictly
    def list_templates(self, *, app_code: str) -> Answer[list[Template]]:
        """All templates of an application.

        Needs the bearer token of a SuperAdmin, an app admin of the application, or a panel user with level `view` on it.
        """
        return self._call(
            "GET",
            "/api/applications/{app_code}/templates",
            {"app_code": app_code},
            {},
            {},
            None,
        )

    @strictly
    def create_template(self, *, app_code: str, body: CreateTemplateBody) -> Answer[Template]:
        """Create a template.

        Liquid: output is escaped in `html` and nowhere else; there are no partials and no files. A part that does not parse is refused with its line and column.

        Needs the bearer token of a SuperAdmin, an app admin of the application, or a panel user with level `edit` on it.
        """
        return self._call(
            "POST",
            "/api/applications/{app_code}/templates",
            {"app_code": app_code},
            {},
            {},
            body,
        )

    @strictly
    def update_template(
        self,
        *,
        app_code: str,
        id: str,
        body: UpdateTemplateBody,
    ) -> Answer[Template]:
        """Change a template.

        Needs the bearer token of a SuperAdmin, an app admin of the application, or a panel user with level `edit` on it.
        """
        return self._call(
            "PUT",
            "/api/applications/{app_code}/templates/{id}",
            {"app_code": app_code, "id": id},
            {},
            {},
            body,
        )

    @strictly
    def delete_template(self, *, app_code: str, id: str) -> Answer[None]:
        """Delete a template.

        Needs the bearer token of a SuperAdmin, an app admin of the application, or a panel user with level `edit` on it.
        """
        return self._call(
            "DELETE",
            "/api/applications/{app_code}/templates/{id}",
            {"app_code": app_code, "id": id},
            {},
            {},
            None,
        )

    @strictly
    def preview_new_template(
        self,
        *,
        app_code: str,
        body: PreviewNewTemplateBody,
    ) -> Answer[TemplatePreview]:
        """Preview a template that is not stored.

        As the preview of a stored template. The body may hold every field of a template beside the payload, so that an editor sends what it edits; type, key and `requiredVariables` change nothing, but a type or language that does not exist is refused. A part that does not parse is refused with its line and column.

        Needs the bearer token of a SuperAdmin, an app admin of the application, or a panel user with level `view` on it.
        """
        return self._call(
            "POST",
            "/api/applications/{app_code}/templates/preview",
            {"app_code": app_code},
            {},
            {},
            body,
        )

    @strictly
    def preview_template(
        self,
        *,
        app_code: str,
        id: str,
        body: PreviewTemplateBody,
    ) -> Answer[TemplatePreview]:
        """Preview a template.

        Renders it for the caller with this payload; variables that the payload lacks are empty. Nothing is sent or stored.

        Needs the bearer token of a SuperAdmin, an app admin of the application, or a panel user with level `view` on it.
        """
        return self._call(
            "POST",
            "/api/applications/{app_code}/templates/{id}/preview",
            {"app_code": app_code, "id": id},
            {},
            {},
            body,
        )

    @strictly
    def send_test_template(
        self,
        *,
        app_code: str,
        id: str,
        body: SendTestTemplateBody | None = None,
    ) -> Answer[SendTestTemplateAnswer]:
        """Send a template to oneself.

        Renders it as the preview does and sends one mail to the caller, through the mail server of the caller's brand, else of the default one. Answers what the server said. No preferences count, and the mail has no unsubscribe link. At most 10 a minute and caller (429).

        Needs the bearer token of a SuperAdmin, an app admin of the application, or a panel user with level `edit` on it.
        """
        return self._call(
            "POST",
            "/api/applications/{app_code}/templates/{id}/test",
            {"app_code": app_code, "id": id},
            {},
            {},
            body,
        )

    @strictly
    def notify(self, *, body: NotifyBody) -> Answer[SentNotifications]:
        """Send a notification.

        One notification per recipient, one delivery per channel that applies. A send answered with 202 is stored and is delivered at least once. A send with more than 64 MiB of rendered text for all recipients together is refused (413); while too much is being rendered for other sends, 503.

        Needs an internal API key with the scope `notify`; without configured keys that of `dataDir/internal-api-key`. Not for browsers.
        """
        return self._call(
            "POST",
            "/api/internal/notifications",
            {},
            {},
            {},
            body,
        )

    @strictly
    def send_notification(
        self,
        *,
        app_code: str,
        body: SendNotificationBody,
    ) -> Answer[SentNotifications]:
        """Send a notification.

        One notification per recipient, one delivery per channel that applies. A send answered with 202 is stored and is delivered at least once. A send with more than 64 MiB of rendered text for all recipients together is refused (413); while too much is being rendered for other sends, 503.

        Needs the bearer token of a SuperAdmin, an app admin of the application, or a panel user with level `edit` on it.
        """
        return self._call(
            "POST",
            "/api/applications/{app_code}/notifications",
            {"app_code": app_code},
            {},
            {},
            body,
        )

    @strictly
    def list_notifications(
        self,
        *,
        app_code: str,
        limit: int | None = None,
        cursor: str | None = None,
        status: Literal["queued", "sent", "partial", "failed", "suppressed"] | None = None,
        type: str | None = None,
        email: str | None = None,
    ) -> Answer[list[NotificationRecord]]:
        """List the notifications of an application, newest first.

        Needs the bearer token of a SuperAdmin, an app admin of the application, or a panel user with level `view` on it.
        """
        return self._call(
            "GET",
            "/api/applications/{app_code}/notifications",
            {"app_code": app_code},
            {"limit": limit, "cursor": cursor, "status": status, "type": type, "email": email},
            {},
            None,
        )

    @strictly
    def get_notification(self, *, app_code: str, id: str) -> Answer[NotificationRecord]:
        """One notification of an application.

        Needs the bearer token of a SuperAdmin, an app admin of the application, or a panel user with level `view` on it.
        """
        return self._call(
            "GET",
            "/api/applications/{app_code}/notifications/{id}",
            {"app_code": app_code, "id": id},
            {},
            {},
            None,
        )

    @strictly
    def retry_notification(self, *, app_code: str, id: str) -> Answer[NotificationRecord]:
        """Retry the failed deliveries of a notification.

        Successful deliveries are not repeated. Returns the current log entry.

        Needs the bearer token of a SuperAdmin, an app admin of the application, or a panel user with level `edit` on it.
        """
        return self._call(
            "POST",
            "/api/applications/{app_code}/notifications/{id}/retry",
            {"app_code": app_code, "id": id},
            {},
            {},
            None,
        )

    @strictly
    def cancel_notification(
        self,
        *,
        app_code: str,
        id: str,
        withdraw: bool | None = None,
    ) -> Answer[TakenBack]:
        """Take back what has not left of a notification.

        What waits becomes `skipped`, reason `cancelled`; what has left stays. Repeating it changes nothing more.

        Needs the bearer token of a SuperAdmin, an app admin of the application, or a panel user with level `edit` on it.
        """
        return self._call(
            "POST",
            "/api/applications/{app_code}/notifications/{id}/cancel",
            {"app_code": app_code, "id": id},
            {"withdraw": withdraw},
            {},
            None,
        )

    @strictly
    def cancel_notifications(
        self,
        *,
        app_code: str,
        body: CancelNotificationsBody,
        withdraw: bool | None = None,
    ) -> Answer[TakenBackOfSeveral]:
        """Take back what has not left of several notifications.

        What waits becomes `skipped`, reason `cancelled`; what has left stays. Repeating it changes nothing more. Either the notifications that a send has answered (`ids`), or all that wait for a delivery (`waiting`).

        Needs the bearer token of a SuperAdmin, an app admin of the application, or a panel user with level `edit` on it.
        """
        return self._call(
            "POST",
            "/api/applications/{app_code}/notifications/cancel",
            {"app_code": app_code},
            {"withdraw": withdraw},
            {},
            body,
        )

    @strictly
    def list_all_notifications(
        self,
        *,
        limit: int | None = None,
        cursor: str | None = None,
        status: Literal["queued", "sent", "partial", "failed", "suppressed"] | None = None,
        type: str | None = None,
        email: str | None = None,
        app_code: str | None = None,
    ) -> Answer[list[NotificationRecordOfApplication]]:
        """List the notifications of the caller's applications, newest first.

        Needs the bearer token of a SuperAdmin, an app admin of any application, or a panel user.
        """
        return self._call(
            "GET",
            "/api/admin/notifications",
            {},
            {"limit": limit, "cursor": cursor, "status": status, "type": type, "email": email, "appCode": app_code},
            {},
            None,
        )

    @strictly
    def get_notification_stats(
        self,
        *,
        hours: int | None = None,
        app_code: str | None = None,
    ) -> Answer[list[SendCount]]:
        """Count the attempted deliveries of the caller's applications.

        By hour, channel, brand and outcome; the newest hour first. Of at most 100,000 notifications and 10,000 rows: `since` says from when on they are complete. Deliveries without an attempt are not counted.

        Needs the bearer token of a SuperAdmin, an app admin of any application, or a panel user.
        """
        return self._call(
            "GET",
            "/api/admin/notifications/stats",
            {},
            {"hours": hours, "appCode": app_code},
            {},
            None,
        )

    @strictly
    def retry_notifications(
        self,
        *,
        body: RetryNotificationsBody,
    ) -> Answer[RetryNotificationsAnswer]:
        """Retry failed deliveries in several applications.

        Of at most 10,000 notifications, the oldest first, in the applications that the caller may edit; `more` says whether others are left. Successful deliveries are not repeated, and one that another call has queued is not queued twice.

        Needs the bearer token of a SuperAdmin, an app admin of any application, or a panel user.
        """
        return self._call(
            "POST",
            "/api/admin/notifications/retry",
            {},
            {},
            {},
            body,
        )

    @strictly
    def list_my_notification_preferences(
        self,
        *,
        app_code: str,
    ) -> Answer[list[NotificationPreference]]:
        """The caller's switches for every notification type of an application.

        Needs an active user's bearer token.
        """
        return self._call(
            "GET",
            "/api/profile/me/notifications/{app_code}",
            {"app_code": app_code},
            {},
            {},
            None,
        )

    @strictly
    def update_my_notification_preferences(
        self,
        *,
        body: UpdateMyNotificationPreferencesBody,
    ) -> Answer[list[NotificationPreference]]:
        """Change switches of several notification types.

        All or nothing. Returns the changed types.

        Needs an active user's bearer token.
        """
        return self._call(
            "PUT",
            "/api/profile/me/notifications/preferences/bulk",
            {},
            {},
            {},
            body,
        )

    @strictly
    def update_my_notification_preference(
        self,
        *,
        notification_type_id: str,
        body: UpdateMyNotificationPreferenceBody,
    ) -> Answer[NotificationPreference]:
        """Change the switches of one notification type.

        Needs an active user's bearer token.
        """
        return self._call(
            "PUT",
            "/api/profile/me/notifications/preferences/{notification_type_id}",
            {"notification_type_id": notification_type_id},
            {},
            {},
            body,
        )

    @strictly
    def list_inbox(
        self,
        *,
        limit: int | None = None,
        cursor: str | None = None,
        unread_only: bool | None = None,
        app_code: str | None = None,
    ) -> Answer[list[InboxNotification]]:
        """The caller's notifications, newest first.

        Needs an active user's bearer token.
        """
        return self._call(
            "GET",
            "/api/profile/me/notifications/inbox",
            {},
            {"limit": limit, "cursor": cursor, "unreadOnly": unread_only, "appCode": app_code},
            {},
            None,
        )

    @strictly
    def count_unread(self) -> Answer[CountUnreadAnswer]:
        """How many of the caller's notifications are unread.

        Needs an active user's bearer token.
        """
        return self._call(
            "GET",
            "/api/profile/me/notifications/inbox/unread-count",
            {},
            {},
            {},
            None,
        )

    @strictly
    def mark_read(self, *, id: str) -> Answer[None]:
        """Mark a notification read.

        A notification that was already read stays unchanged.

        Needs an active user's bearer token.
        """
        return self._call(
            "PATCH",
            "/api/profile/me/notifications/inbox/{id}/read",
            {"id": id},
            {},
            {},
            None,
        )

    @strictly
    def mark_all_read(self, *, body: MarkAllReadBody | None = None) -> Answer[MarkAllReadAnswer]:
        """Mark all notifications read.

        Needs an active user's bearer token.
        """
        return self._call(
            "POST",
            "/api/profile/me/notifications/inbox/read-all",
            {},
            {},
            {},
            body,
        )


class AsyncOperations:
    async def _call(
        self,
        method: str,
        path: str,
        values: Mapping[str, object],
        query: Mapping[str, object],
        headers: Mapping[str, str | None],
        body: object,
    ) -> Answer[Any]:
        raise NotImplementedError

    @strictly
    async def check(
        self,
        *,
        body: CheckQuestion,
        min_revision: str | None = None,
    ) -> Answer[CheckAnswer]:
        """Check one permission of a user.

        Answers whether the user holds the permission in the application, globally or for one record. An unknown application is denied, and so is an unknown permission unless the application has `strictCodes` (UNKNOWN_CODE). An error is not an answer: treat the user as denied for this request.

        Needs an internal API key with the scope `check` where keys are configured. Not for browsers.
        """
        return await self._call(
            "POST",
            "/api/check",
            {},
            {},
            {"usher-min-revision": min_revision},
            body,
        )

    @strictly
    async def bulk_check(
        self,
        *,
        body: BulkQuestion,
        min_revision: str | None = None,
    ) -> Answer[dict[str, bool]]:
        """Check several permissions of a user.

        One answer for each distinct code, all at one revision.

        Needs an internal API key with the scope `check` where keys are configured. Not for browsers.
        """
        return await self._call(
            "POST",
            "/api/check/bulk",
            {},
            {},
            {"usher-min-revision": min_revision},
            body,
        )

    @strictly
    async def list_effective(
        self,
        *,
        body: EffectiveQuestion,
        min_revision: str | None = None,
    ) -> Answer[list[EffectivePermission]]:
        """List what a user holds in an application.

        Every permission that the application defines, by group (those without one last), then code. Empty for an unknown application.

        Needs an internal API key with the scope `check` where keys are configured. Not for browsers.
        """
        return await self._call(
            "POST",
            "/api/check/effective",
            {},
            {},
            {"usher-min-revision": min_revision},
            body,
        )

    @strictly
    async def batch_check(
        self,
        *,
        body: BatchCheckBody,
        min_revision: str | None = None,
    ) -> Answer[BatchCheckAnswer]:
        """Check permissions of any users for any records.

        Answers each check in order, all at one revision: one call for a page of rows. A malformed check refuses the whole call and is named (`checks.3.resourceId`).

        Needs an internal API key with the scope `check` where keys are configured. Not for browsers.
        """
        return await self._call(
            "POST",
            "/api/check/batch",
            {},
            {},
            {"usher-min-revision": min_revision},
            body,
        )

    @strictly
    async def explain(
        self,
        *,
        body: CheckQuestion,
        min_revision: str | None = None,
    ) -> Answer[Explanation]:
        """Explain the answer to a check.

        Answers one check with the result of each of the six rules, read from the database and never from a cache of decisions. `strictCodes` refuses nothing here: `known` says what exists.

        Needs an internal API key with the scope `check` where keys are configured. Not for browsers.
        """
        return await self._call(
            "POST",
            "/api/check/explain",
            {},
            {},
            {"usher-min-revision": min_revision},
            body,
        )

    @strictly
    async def clear_cache(self, *, everywhere: bool | None = None) -> Answer[ClearCacheAnswer]:
        """Forget every cached decision and fact.

        Of this instance, or of all. Only needed after rows were changed by hand.

        Needs an internal API key with the scope `check` where keys are configured. Not for browsers.
        """
        return await self._call(
            "POST",
            "/api/check/cache/clear",
            {},
            {"everywhere": everywhere},
            {},
            None,
        )

    @strictly
    async def check_by_status(
        self,
        *,
        app_code: str,
        permission: str,
        resource_type: str | None | None = None,
        resource_id: str | None | None = None,
        access_level: Literal["view", "edit"] | None | None = None,
    ) -> Answer[None]:
        """Check by status.

        For proxies that read only a status: 204 allowed, 403 denied, 401 without a user, 503 without an answer; 2xx is a yes and nothing else. Every method is answered alike, at this path and every path below it, and the body is not read. Answers about a person carry `x-usher-email`, `x-usher-access-level` and `x-usher-source`.

        Needs the user's bearer token; or an internal API key with the scope `check` where keys are configured, and the user's address in the header `x-auth-request-email`. `Origin` says nothing here, and no page of another origin can read the answer.
        """
        return await self._call(
            "GET",
            "/api/gateway/{app_code}/check",
            {"app_code": app_code},
            {"permission": permission, "resourceType": resource_type, "resourceId": resource_id, "accessLevel": access_level},
            {},
            None,
        )

    @strictly
    async def evaluate(
        self,
        *,
        app_code: str,
        body: EvaluateBody,
        min_revision: str | None = None,
    ) -> Answer[EvaluateAnswer]:
        """Evaluate one request.

        Whether the subject may do the action to the resource: a check of the application that the path names. `{type: usher:application, id: <the application's code>}` asks without a record. An error is not a decision: treat the subject as denied.

        Needs an internal API key with the scope `check` where keys are configured. Not for browsers. It may come as `Authorization: Bearer <key>` too.
        """
        return await self._call(
            "POST",
            "/authzen/{app_code}/access/v1/evaluation",
            {"app_code": app_code},
            {},
            {"usher-min-revision": min_revision},
            body,
        )

    @strictly
    async def evaluate_all(
        self,
        *,
        app_code: str,
        body: EvaluateAllBody,
        min_revision: str | None = None,
    ) -> Answer[EvaluateAllAnswer | EvaluateAllAnswer2]:
        """Evaluate several requests.

        Decisions of one revision, in the order of the requests. The members beside `evaluations` are defaults, which an evaluation replaces whole. A malformed evaluation refuses the whole call and is named (`evaluations.3.resource.id`).

        Needs an internal API key with the scope `check` where keys are configured. Not for browsers. It may come as `Authorization: Bearer <key>` too.
        """
        return await self._call(
            "POST",
            "/authzen/{app_code}/access/v1/evaluations",
            {"app_code": app_code},
            {},
            {"usher-min-revision": min_revision},
            body,
        )

    @strictly
    async def search_subjects(
        self,
        *,
        app_code: str,
        body: SearchSubjectsBody,
        min_revision: str | None = None,
    ) -> Answer[SearchSubjectsAnswer]:
        """Search the users who may do something.

        Everybody for whom an evaluation of the same request says yes, in the form of the type: accounts for `identity` (`authzen.accountTypes`), addresses for the others. A page may hold fewer than its limit: only an empty `next_token` ends the results.

        Needs an internal API key with the scope `check` where keys are configured. Not for browsers. It may come as `Authorization: Bearer <key>` too.
        """
        return await self._call(
            "POST",
            "/authzen/{app_code}/access/v1/search/subject",
            {"app_code": app_code},
            {},
            {"usher-min-revision": min_revision},
            body,
        )

    @strictly
    async def search_resources(
        self,
        *,
        app_code: str,
        body: SearchResourcesBody,
        min_revision: str | None = None,
    ) -> Answer[SearchResourcesAnswer]:
        """Search the records that a user can reach.

        Every record of the type for which an evaluation of the same request says yes. 400 UNBOUNDED where these are all but some, as with a permission held by role. A page may hold fewer than its limit: only an empty `next_token` ends the results.

        Needs an internal API key with the scope `check` where keys are configured. Not for browsers. It may come as `Authorization: Bearer <key>` too.
        """
        return await self._call(
            "POST",
            "/authzen/{app_code}/access/v1/search/resource",
            {"app_code": app_code},
            {},
            {"usher-min-revision": min_revision},
            body,
        )

    @strictly
    async def search_actions(
        self,
        *,
        app_code: str,
        body: SearchActionsBody,
        min_revision: str | None = None,
    ) -> Answer[SearchActionsAnswer]:
        """Search what a user may do to a record.

        The permissions of the application that the subject holds for the resource, at any level, in one page.

        Needs an internal API key with the scope `check` where keys are configured. Not for browsers. It may come as `Authorization: Bearer <key>` too.
        """
        return await self._call(
            "POST",
            "/authzen/{app_code}/access/v1/search/action",
            {"app_code": app_code},
            {},
            {"usher-min-revision": min_revision},
            body,
        )

    @strictly
    async def get_authzen_configuration(
        self,
        *,
        app_code: str,
    ) -> Answer[GetAuthzenConfigurationAnswer]:
        """Read where a policy decision point has its endpoints.

        Built from `publicUrl`. 404 for an application that does not exist.

        Needs an internal API key with the scope `check` where keys are configured. Not for browsers. It may come as `Authorization: Bearer <key>` too.
        """
        return await self._call(
            "GET",
            "/.well-known/authzen-configuration/authzen/{app_code}",
            {"app_code": app_code},
            {},
            {},
            None,
        )

    @strictly
    async def check_mine(
        self,
        *,
        body: MyCheckQuestion,
        min_revision: str | None = None,
    ) -> Answer[CheckMineAnswer]:
        """Check one of my permissions.

        Needs a user's bearer token. An inactive user gets an answer too: everything is denied.
        """
        return await self._call(
            "POST",
            "/api/profile/me/check",
            {},
            {},
            {"usher-min-revision": min_revision},
            body,
        )

    @strictly
    async def bulk_check_mine(
        self,
        *,
        body: BulkCheckMineBody,
        min_revision: str | None = None,
    ) -> Answer[dict[str, bool]]:
        """Check several of my permissions.

        One answer for each distinct code, all at one revision.

        Needs a user's bearer token. An inactive user gets an answer too: everything is denied.
        """
        return await self._call(
            "POST",
            "/api/profile/me/check/bulk",
            {},
            {},
            {"usher-min-revision": min_revision},
            body,
        )

    @strictly
    async def list_my_effective(
        self,
        *,
        body: ListMyEffectiveBody,
        min_revision: str | None = None,
    ) -> Answer[list[MyEffectivePermission]]:
        """List what I hold in an application.

        Every permission that the application defines, by group (those without one last), then code.

        Needs a user's bearer token. An inactive user gets an answer too: everything is denied.
        """
        return await self._call(
            "POST",
            "/api/profile/me/check/effective",
            {},
            {},
            {"usher-min-revision": min_revision},
            body,
        )

    @strictly
    async def batch_check_mine(
        self,
        *,
        body: BatchCheckMineBody,
        min_revision: str | None = None,
    ) -> Answer[BatchCheckMineAnswer]:
        """Check my permissions for many records.

        Answers each check in order, all at one revision. A malformed check refuses the whole call and is named (`checks.3.resourceId`).

        Needs a user's bearer token. An inactive user gets an answer too: everything is denied.
        """
        return await self._call(
            "POST",
            "/api/profile/me/check/batch",
            {},
            {},
            {"usher-min-revision": min_revision},
            body,
        )

    @strictly
    async def get_my_profile(self) -> Answer[Profile]:
        """My profile.

        Created at the first access, with the names and the picture of the token. A newer token updates the names; an older one changes nothing.

        Needs an active user's bearer token.
        """
        return await self._call(
            "GET",
            "/api/profile/me",
            {},
            {},
            {},
            None,
        )

    @strictly
    async def update_my_profile(self, *, body: UpdateMyProfileBody) -> Answer[Profile]:
        """Change my profile.

        Changes the fields sent. Names are sent to the identity provider first and stored once it has accepted them. Null clears a name or the picture, and resets language, time zone and brand.

        Needs an active user's bearer token.
        """
        return await self._call(
            "PUT",
            "/api/profile/me",
            {},
            {},
            {},
            body,
        )

    @strictly
    async def get_profile(self, *, email: str) -> Answer[Profile]:
        """A user's profile.

        SuperAdmins and app admins may read every profile; panel users those of users of applications on which they have a level.

        Needs the bearer token of a SuperAdmin, an app admin of any application, or a panel user.
        """
        return await self._call(
            "GET",
            "/api/profile/{email}",
            {"email": email},
            {},
            {},
            None,
        )

    @strictly
    async def list_my_preferences(self) -> Answer[list[ApplicationPreferences]]:
        """My preferences in every application.

        For applications that I have used or set preferences in, by code.

        Needs an active user's bearer token.
        """
        return await self._call(
            "GET",
            "/api/profile/me/apps",
            {},
            {},
            {},
            None,
        )

    @strictly
    async def enter_application(self, *, app_code: str) -> Answer[ApplicationPreferences]:
        """Log in to an application.

        The login bootstrap: records a login and returns my preferences, which it creates with defaults on the first login. A front end calls it exactly once, when its authenticated start is complete.

        Needs an active user's bearer token.
        """
        return await self._call(
            "GET",
            "/api/profile/me/apps/{app_code}",
            {"app_code": app_code},
            {},
            {},
            None,
        )

    @strictly
    async def update_my_preferences(
        self,
        *,
        app_code: str,
        body: UpdateMyPreferencesBody,
    ) -> Answer[ApplicationPreferences]:
        """Change my preferences in an application.

        Changes the fields sent. Records no login.

        Needs an active user's bearer token.
        """
        return await self._call(
            "PUT",
            "/api/profile/me/apps/{app_code}",
            {"app_code": app_code},
            {},
            {},
            body,
        )

    @strictly
    async def record_my_activity(self, *, app_code: str) -> Answer[Recorded]:
        """Record my activity in an application.

        Updates my last activity there, at most once in five minutes; `recorded` says whether this call did. Changes no login.

        Needs an active user's bearer token.
        """
        return await self._call(
            "POST",
            "/api/profile/me/apps/{app_code}/activity",
            {"app_code": app_code},
            {},
            {},
            None,
        )

    @strictly
    async def record_my_logout(self, *, app_code: str) -> Answer[Recorded]:
        """Record my logout from an application.

        Adds an event and an audit record. Changes no login.

        Needs an active user's bearer token.
        """
        return await self._call(
            "POST",
            "/api/profile/me/apps/{app_code}/logout",
            {"app_code": app_code},
            {},
            {},
            None,
        )

    @strictly
    async def get_preferences(self, *, email: str, app_code: str) -> Answer[ApplicationPreferences]:
        """A user's preferences in an application.

        The defaults if nothing was set.

        Needs the bearer token of a SuperAdmin, an app admin of the application, or a panel user with level `view` on it.
        """
        return await self._call(
            "GET",
            "/api/users/{email}/apps/{app_code}/preferences",
            {"email": email, "app_code": app_code},
            {},
            {},
            None,
        )

    @strictly
    async def update_preferences(
        self,
        *,
        email: str,
        app_code: str,
        body: UpdatePreferencesBody,
    ) -> Answer[ApplicationPreferences]:
        """Change a user's preferences in an application.

        Changes the fields sent. Records no login.

        Needs the bearer token of a SuperAdmin, an app admin of the application, or a panel user with level `edit` on it.
        """
        return await self._call(
            "PUT",
            "/api/users/{email}/apps/{app_code}/preferences",
            {"email": email, "app_code": app_code},
            {},
            {},
            body,
        )

    @strictly
    async def list_application_events(
        self,
        *,
        email: str,
        app_code: str,
        limit: int | None = None,
        cursor: str | None = None,
    ) -> Answer[list[ApplicationEvent]]:
        """A user's logins and logouts in an application.

        The newest first.

        Needs the bearer token of a SuperAdmin, an app admin of the application, or a panel user with level `view` on it.
        """
        return await self._call(
            "GET",
            "/api/users/{email}/apps/{app_code}/events",
            {"email": email, "app_code": app_code},
            {"limit": limit, "cursor": cursor},
            {},
            None,
        )

    @strictly
    async def record_application_event(
        self,
        *,
        body: RecordApplicationEventBody,
    ) -> Answer[Recorded]:
        """Record a login, activity or a logout.

        For applications whose backend records logins instead of the front end. Use only one of the two, or each login counts twice. `activity` updates only the last activity, at most once in five minutes; `logout` adds an event and an audit record.

        Needs an internal API key with the scope `events`; without configured keys that of `dataDir/internal-api-key`. Not for browsers.
        """
        return await self._call(
            "POST",
            "/api/internal/auth/application-events",
            {},
            {},
            {},
            body,
        )

    @strictly
    async def sync_profile(self, *, body: SyncProfileBody) -> Answer[SyncProfileAnswer]:
        """Store names that were changed at the identity provider.

        Null or an empty text clears a name; a name that is left out stays. `applied` is false for an unknown user, and for a `changedAt` older than the last change of names known here.

        Needs an internal API key with the scope `profile`; without configured keys that of `dataDir/internal-api-key`. Not for browsers.
        """
        return await self._call(
            "PUT",
            "/api/internal/auth/profile-sync",
            {},
            {},
            {},
            body,
        )

    @strictly
    async def list_applications(
        self,
        *,
        limit: int | None = None,
        cursor: str | None = None,
        q: str | None = None,
        sort: Literal["code", "name", "updatedAt", "people", "roles", "permissions", "admins"] | None = None,
    ) -> Answer[list[ListedApplication]]:
        """List the applications that the caller may view.

        Empty for a panel user without a level on any. Whole, by code, unless `limit` or `cursor` asks for a page of it.

        Needs the bearer token of a SuperAdmin, an app admin of any application, or a panel user.
        """
        return await self._call(
            "GET",
            "/api/applications",
            {},
            {"limit": limit, "cursor": cursor, "q": q, "sort": sort},
            {},
            None,
        )

    @overload
    async def create_application(
        self,
        *,
        dry_run: Literal[True],
        body: CreateApplicationBody,
        if_revision: str | None = None,
    ) -> Answer[CreateApplicationDryRun]: ...

    @overload
    async def create_application(
        self,
        *,
        body: CreateApplicationBody,
        if_revision: str | None = None,
        dry_run: Literal[False] | None = None,
    ) -> Answer[Application]: ...

    @strictly
    async def create_application(
        self,
        *,
        body: CreateApplicationBody,
        dry_run: bool | None = None,
        if_revision: str | None = None,
    ) -> Answer[Any]:
        """Create an application.

        It starts with only the notification type `generic`.

        Needs the bearer token of a SuperAdmin, or of a panel user who manages every application.
        """
        return await self._call(
            "POST",
            "/api/applications",
            {},
            {"dryRun": dry_run},
            {"usher-if-revision": if_revision},
            body,
        )

    @strictly
    async def get_application(self, *, app_code: str) -> Answer[Application]:
        """One application.

        Needs the bearer token of a SuperAdmin, an app admin of the application, or a panel user with level `view` on it.
        """
        return await self._call(
            "GET",
            "/api/applications/{app_code}",
            {"app_code": app_code},
            {},
            {},
            None,
        )

    @overload
    async def update_application(
        self,
        *,
        dry_run: Literal[True],
        app_code: str,
        body: UpdateApplicationBody,
        if_match: str | None = None,
        if_revision: str | None = None,
    ) -> Answer[UpdateApplicationDryRun]: ...

    @overload
    async def update_application(
        self,
        *,
        app_code: str,
        body: UpdateApplicationBody,
        if_match: str | None = None,
        if_revision: str | None = None,
        dry_run: Literal[False] | None = None,
    ) -> Answer[Application]: ...

    @strictly
    async def update_application(
        self,
        *,
        app_code: str,
        body: UpdateApplicationBody,
        dry_run: bool | None = None,
        if_match: str | None = None,
        if_revision: str | None = None,
    ) -> Answer[Any]:
        """Change an application.

        Needs the bearer token of a SuperAdmin, an app admin of the application, or a panel user with level `edit` on it.
        """
        return await self._call(
            "PUT",
            "/api/applications/{app_code}",
            {"app_code": app_code},
            {"dryRun": dry_run},
            {"if-match": if_match, "usher-if-revision": if_revision},
            body,
        )

    @overload
    async def delete_application(
        self,
        *,
        dry_run: Literal[True],
        app_code: str,
        if_revision: str | None = None,
    ) -> Answer[DeleteApplicationDryRun]: ...

    @overload
    async def delete_application(
        self,
        *,
        app_code: str,
        if_revision: str | None = None,
        dry_run: Literal[False] | None = None,
    ) -> Answer[None]: ...

    @strictly
    async def delete_application(
        self,
        *,
        app_code: str,
        dry_run: bool | None = None,
        if_revision: str | None = None,
    ) -> Answer[Any]:
        """Delete an application and everything in it.

        Deletes its entities, permissions, roles, assignments, overrides, admins, notification types, templates and notifications too.

        Needs the bearer token of a SuperAdmin, or of a panel user who manages every application.
        """
        return await self._call(
            "DELETE",
            "/api/applications/{app_code}",
            {"app_code": app_code},
            {"dryRun": dry_run},
            {"usher-if-revision": if_revision},
            None,
        )

    @strictly
    async def get_texts(self, *, app_code: str, locale: str) -> Answer[dict[str, str]]:
        """The texts of an application by key.

        Flat: `notifications.types.<code>.title`, and `notifications.types.<code>.description` if present. Texts are stored without a locale, so every locale gets the same.

        Needs an active user's bearer token.
        """
        return await self._call(
            "GET",
            "/api/applications/{app_code}/i18n/{locale}",
            {"app_code": app_code, "locale": locale},
            {},
            {},
            None,
        )

    @strictly
    async def explain_in_application(
        self,
        *,
        app_code: str,
        body: ExplainInApplicationBody,
        min_revision: str | None = None,
    ) -> Answer[Explanation]:
        """Explain why a user holds a permission of the application, or does not.

        As /api/check/explain, for administrators: the result of each of the six rules, read from the database.

        Needs the bearer token of a SuperAdmin, an app admin of the application, or a panel user with level `view` on it.
        """
        return await self._call(
            "POST",
            "/api/applications/{app_code}/explain",
            {"app_code": app_code},
            {},
            {"usher-min-revision": min_revision},
            body,
        )

    @strictly
    async def list_effective_in_application(
        self,
        *,
        app_code: str,
        body: ListEffectiveInApplicationBody,
        min_revision: str | None = None,
    ) -> Answer[list[EffectivePermission]]:
        """List what a user holds in the application.

        As /api/check/effective, for administrators: every permission that the application defines, by group (those without one last), then code.

        Needs the bearer token of a SuperAdmin, an app admin of the application, or a panel user with level `view` on it.
        """
        return await self._call(
            "POST",
            "/api/applications/{app_code}/effective",
            {"app_code": app_code},
            {},
            {"usher-min-revision": min_revision},
            body,
        )

    @strictly
    async def list_subjects(
        self,
        *,
        body: ListSubjectsBody,
        min_revision: str | None = None,
    ) -> Answer[ListSubjectsAnswer]:
        """List who holds a permission.

        Everybody whom a check of the same question allows: by role or override, including administrators of the application, SuperAdmins and addresses without a record, but not inactive users. In a stable order; a person who qualifies throughout is listed exactly once. Each page reflects one revision.

        Needs an internal API key with the scope `check` where keys are configured. Not for browsers.
        """
        return await self._call(
            "POST",
            "/api/check/subjects",
            {},
            {},
            {"usher-min-revision": min_revision},
            body,
        )

    @strictly
    async def list_resources(
        self,
        *,
        body: ListResourcesBody,
        min_revision: str | None = None,
    ) -> Answer[ListResourcesAnswer]:
        """List the records that a user can reach.

        A filter for your own query: `all` with records to exclude (NOT IN), or `only` with records to include (IN). Exact even for records unknown to Usher. All pages reflect one state: 409 LIST_CHANGED when what the user holds, or the policy of the application, has changed since the first; then start over. A list of exceptions must not be used before it is complete.

        Needs an internal API key with the scope `check` where keys are configured. Not for browsers.
        """
        return await self._call(
            "POST",
            "/api/check/resources",
            {},
            {},
            {"usher-min-revision": min_revision},
            body,
        )

    @strictly
    async def list_my_resources(
        self,
        *,
        body: ListMyResourcesBody,
        min_revision: str | None = None,
    ) -> Answer[ListMyResourcesAnswer]:
        """List the records that I can reach.

        A filter for your own query: `all` with records to exclude (NOT IN), or `only` with records to include (IN). Exact even for records unknown to Usher. All pages reflect one state: 409 LIST_CHANGED when what the user holds, or the policy of the application, has changed since the first; then start over. A list of exceptions must not be used before it is complete.

        Needs a user's bearer token. An inactive user gets an answer too: everything is denied.
        """
        return await self._call(
            "POST",
            "/api/profile/me/check/resources",
            {},
            {},
            {"usher-min-revision": min_revision},
            body,
        )

    @strictly
    async def list_subjects_in_application(
        self,
        *,
        app_code: str,
        body: ListSubjectsInApplicationBody,
        min_revision: str | None = None,
    ) -> Answer[ListSubjectsInApplicationAnswer]:
        """List who holds a permission of the application.

        Everybody whom a check of the same question allows: by role or override, including administrators of the application, SuperAdmins and addresses without a record, but not inactive users. In a stable order; a person who qualifies throughout is listed exactly once. Each page reflects one revision.

        Needs the bearer token of a SuperAdmin, an app admin of the application, or a panel user with level `view` on it.
        """
        return await self._call(
            "POST",
            "/api/applications/{app_code}/subjects",
            {"app_code": app_code},
            {},
            {"usher-min-revision": min_revision},
            body,
        )

    @strictly
    async def list_resources_in_application(
        self,
        *,
        app_code: str,
        body: ListResourcesInApplicationBody,
        min_revision: str | None = None,
    ) -> Answer[ListResourcesInApplicationAnswer]:
        """List the records of the application that a user can reach.

        A filter for your own query: `all` with records to exclude (NOT IN), or `only` with records to include (IN). Exact even for records unknown to Usher. All pages reflect one state: 409 LIST_CHANGED when what the user holds, or the policy of the application, has changed since the first; then start over. A list of exceptions must not be used before it is complete.

        Needs the bearer token of a SuperAdmin, an app admin of the application, or a panel user with level `view` on it.
        """
        return await self._call(
            "POST",
            "/api/applications/{app_code}/resources",
            {"app_code": app_code},
            {},
            {"usher-min-revision": min_revision},
            body,
        )

    @strictly
    async def list_entities(self, *, app_code: str) -> Answer[list[Entity]]:
        """The entity catalog of an application.

        Needs the bearer token of a SuperAdmin, an app admin of the application, or a panel user with level `view` on it.
        """
        return await self._call(
            "GET",
            "/api/applications/{app_code}/entities",
            {"app_code": app_code},
            {},
            {},
            None,
        )

    @overload
    async def create_entity(
        self,
        *,
        dry_run: Literal[True],
        app_code: str,
        body: CreateEntityBody,
        if_revision: str | None = None,
    ) -> Answer[CreateEntityDryRun]: ...

    @overload
    async def create_entity(
        self,
        *,
        app_code: str,
        body: CreateEntityBody,
        if_revision: str | None = None,
        dry_run: Literal[False] | None = None,
    ) -> Answer[Entity]: ...

    @strictly
    async def create_entity(
        self,
        *,
        app_code: str,
        body: CreateEntityBody,
        dry_run: bool | None = None,
        if_revision: str | None = None,
    ) -> Answer[Any]:
        """Add an entity to the catalog.

        Once the catalog has an entity, new overrides of other resource types are refused.

        Needs the bearer token of a SuperAdmin, an app admin of the application, or a panel user with level `edit` on it.
        """
        return await self._call(
            "POST",
            "/api/applications/{app_code}/entities",
            {"app_code": app_code},
            {"dryRun": dry_run},
            {"usher-if-revision": if_revision},
            body,
        )

    @overload
    async def update_entity(
        self,
        *,
        dry_run: Literal[True],
        app_code: str,
        id: str,
        body: UpdateEntityBody,
        if_revision: str | None = None,
    ) -> Answer[UpdateEntityDryRun]: ...

    @overload
    async def update_entity(
        self,
        *,
        app_code: str,
        id: str,
        body: UpdateEntityBody,
        if_revision: str | None = None,
        dry_run: Literal[False] | None = None,
    ) -> Answer[Entity]: ...

    @strictly
    async def update_entity(
        self,
        *,
        app_code: str,
        id: str,
        body: UpdateEntityBody,
        dry_run: bool | None = None,
        if_revision: str | None = None,
    ) -> Answer[Any]:
        """Change an entity.

        Including its code, while no override names a resource of this type.

        Needs the bearer token of a SuperAdmin, an app admin of the application, or a panel user with level `edit` on it.
        """
        return await self._call(
            "PUT",
            "/api/applications/{app_code}/entities/{id}",
            {"app_code": app_code, "id": id},
            {"dryRun": dry_run},
            {"usher-if-revision": if_revision},
            body,
        )

    @overload
    async def delete_entity(
        self,
        *,
        dry_run: Literal[True],
        app_code: str,
        id: str,
        if_revision: str | None = None,
    ) -> Answer[DeleteEntityDryRun]: ...

    @overload
    async def delete_entity(
        self,
        *,
        app_code: str,
        id: str,
        if_revision: str | None = None,
        dry_run: Literal[False] | None = None,
    ) -> Answer[None]: ...

    @strictly
    async def delete_entity(
        self,
        *,
        app_code: str,
        id: str,
        dry_run: bool | None = None,
        if_revision: str | None = None,
    ) -> Answer[Any]:
        """Remove an entity from the catalog.

        Refused while overrides name resources of this type.

        Needs the bearer token of a SuperAdmin, an app admin of the application, or a panel user with level `edit` on it.
        """
        return await self._call(
            "DELETE",
            "/api/applications/{app_code}/entities/{id}",
            {"app_code": app_code, "id": id},
            {"dryRun": dry_run},
            {"usher-if-revision": if_revision},
            None,
        )

    @strictly
    async def list_entity_items(
        self,
        *,
        app_code: str,
        entity_code: str,
        q: str | None = None,
        cursor: str | None = None,
        ids: str | None = None,
    ) -> Answer[EntityItems]:
        """List the existing records of an entity.

        Calls the entity's `listEndpoint` with the bearer token of the caller. It may return an array, or one in `data`, `items` or `results`; ids are read from `id`, `code` or `uuid`, labels from `name`, `title` or `label`; a record without an id that an override could name is left out. Only origins in `entities.allowedOrigins` are called (outside production loopback too). 502 with `details.reason` without such an answer within 5 seconds and 1 MiB; redirects are not followed. Of an entity with `listSearch` the query goes to the endpoint as it is, which answers the page, and its `nextCursor` (or `page.nextCursor`). Of another one the answer is searched here, and there are no cursors.

        Needs the bearer token of a SuperAdmin, an app admin of the application, or a panel user with level `view` on it.
        """
        return await self._call(
            "GET",
            "/api/applications/{app_code}/entities/{entity_code}/items",
            {"app_code": app_code, "entity_code": entity_code},
            {"q": q, "cursor": cursor, "ids": ids},
            {},
            None,
        )

    @strictly
    async def list_permissions(self, *, app_code: str) -> Answer[list[Permission]]:
        """All permissions of an application.

        Needs the bearer token of a SuperAdmin, an app admin of the application, or a panel user with level `view` on it.
        """
        return await self._call(
            "GET",
            "/api/applications/{app_code}/permissions",
            {"app_code": app_code},
            {},
            {},
            None,
        )

    @overload
    async def create_permission(
        self,
        *,
        dry_run: Literal[True],
        app_code: str,
        body: CreatePermissionBody,
        if_revision: str | None = None,
    ) -> Answer[CreatePermissionDryRun]: ...

    @overload
    async def create_permission(
        self,
        *,
        app_code: str,
        body: CreatePermissionBody,
        if_revision: str | None = None,
        dry_run: Literal[False] | None = None,
    ) -> Answer[Permission]: ...

    @strictly
    async def create_permission(
        self,
        *,
        app_code: str,
        body: CreatePermissionBody,
        dry_run: bool | None = None,
        if_revision: str | None = None,
    ) -> Answer[Any]:
        """Create a permission.

        Needs the bearer token of a SuperAdmin, an app admin of the application, or a panel user with level `edit` on it.
        """
        return await self._call(
            "POST",
            "/api/applications/{app_code}/permissions",
            {"app_code": app_code},
            {"dryRun": dry_run},
            {"usher-if-revision": if_revision},
            body,
        )

    @overload
    async def update_permission(
        self,
        *,
        dry_run: Literal[True],
        app_code: str,
        permission_id: str,
        body: UpdatePermissionBody,
        if_revision: str | None = None,
    ) -> Answer[UpdatePermissionDryRun]: ...

    @overload
    async def update_permission(
        self,
        *,
        app_code: str,
        permission_id: str,
        body: UpdatePermissionBody,
        if_revision: str | None = None,
        dry_run: Literal[False] | None = None,
    ) -> Answer[Permission]: ...

    @strictly
    async def update_permission(
        self,
        *,
        app_code: str,
        permission_id: str,
        body: UpdatePermissionBody,
        dry_run: bool | None = None,
        if_revision: str | None = None,
    ) -> Answer[Any]:
        """Change a permission.

        The type can change only while no role or override refers to it.

        Needs the bearer token of a SuperAdmin, an app admin of the application, or a panel user with level `edit` on it.
        """
        return await self._call(
            "PUT",
            "/api/applications/{app_code}/permissions/{permission_id}",
            {"app_code": app_code, "permission_id": permission_id},
            {"dryRun": dry_run},
            {"usher-if-revision": if_revision},
            body,
        )

    @overload
    async def delete_permission(
        self,
        *,
        dry_run: Literal[True],
        app_code: str,
        permission_id: str,
        if_revision: str | None = None,
    ) -> Answer[DeletePermissionDryRun]: ...

    @overload
    async def delete_permission(
        self,
        *,
        app_code: str,
        permission_id: str,
        if_revision: str | None = None,
        dry_run: Literal[False] | None = None,
    ) -> Answer[None]: ...

    @strictly
    async def delete_permission(
        self,
        *,
        app_code: str,
        permission_id: str,
        dry_run: bool | None = None,
        if_revision: str | None = None,
    ) -> Answer[Any]:
        """Delete a permission.

        Removes it from roles and deletes its overrides; its children lose their parent.

        Needs the bearer token of a SuperAdmin, an app admin of the application, or a panel user with level `edit` on it.
        """
        return await self._call(
            "DELETE",
            "/api/applications/{app_code}/permissions/{permission_id}",
            {"app_code": app_code, "permission_id": permission_id},
            {"dryRun": dry_run},
            {"usher-if-revision": if_revision},
            None,
        )

    @strictly
    async def get_vapid_key(self) -> Answer[GetVapidKeyAnswer]:
        """Get the key that browsers subscribe with.

        `applicationServerKey` of `pushManager.subscribe`. In production 503 where no keys are configured.

        Needs an active user's bearer token.
        """
        return await self._call(
            "GET",
            "/api/profile/me/push/vapid-key",
            {},
            {},
            {},
            None,
        )

    @strictly
    async def subscribe_to_pushes(self, *, body: SubscribeToPushesBody) -> Answer[PushSubscription]:
        """Subscribe this browser to pushes.

        Send what `pushManager.subscribe` returned. The same endpoint again updates its subscription (200); it moves from another user when both keys are the same. At most 20 per user: the least recently used one is removed.

        Needs an active user's bearer token.
        """
        return await self._call(
            "POST",
            "/api/profile/me/push/subscribe",
            {},
            {},
            {},
            body,
        )

    @strictly
    async def unsubscribe_from_pushes(
        self,
        *,
        body: UnsubscribeFromPushesBody,
    ) -> Answer[UnsubscribeFromPushesAnswer]:
        """Unsubscribe an endpoint from pushes.

        Needs an active user's bearer token.
        """
        return await self._call(
            "POST",
            "/api/profile/me/push/unsubscribe",
            {},
            {},
            {},
            body,
        )

    @strictly
    async def list_my_push_subscriptions(self) -> Answer[list[PushSubscription]]:
        """List my subscribed browsers.

        Needs an active user's bearer token.
        """
        return await self._call(
            "GET",
            "/api/profile/me/push/subscriptions",
            {},
            {},
            {},
            None,
        )

    @strictly
    async def delete_my_push_subscription(self, *, id: str) -> Answer[None]:
        """Unsubscribe one of my browsers from pushes.

        Needs an active user's bearer token.
        """
        return await self._call(
            "DELETE",
            "/api/profile/me/push/subscriptions/{id}",
            {"id": id},
            {},
            {},
            None,
        )

    @strictly
    async def list_roles(self, *, app_code: str) -> Answer[list[Role]]:
        """All roles of an application.

        Needs the bearer token of a SuperAdmin, an app admin of the application, or a panel user with level `view` on it.
        """
        return await self._call(
            "GET",
            "/api/applications/{app_code}/roles",
            {"app_code": app_code},
            {},
            {},
            None,
        )

    @overload
    async def create_role(
        self,
        *,
        dry_run: Literal[True],
        app_code: str,
        body: CreateRoleBody,
        if_revision: str | None = None,
    ) -> Answer[CreateRoleDryRun]: ...

    @overload
    async def create_role(
        self,
        *,
        app_code: str,
        body: CreateRoleBody,
        if_revision: str | None = None,
        dry_run: Literal[False] | None = None,
    ) -> Answer[Role]: ...

    @strictly
    async def create_role(
        self,
        *,
        app_code: str,
        body: CreateRoleBody,
        dry_run: bool | None = None,
        if_revision: str | None = None,
    ) -> Answer[Any]:
        """Create a role.

        Needs the bearer token of a SuperAdmin, an app admin of the application, or a panel user with level `edit` on it.
        """
        return await self._call(
            "POST",
            "/api/applications/{app_code}/roles",
            {"app_code": app_code},
            {"dryRun": dry_run},
            {"usher-if-revision": if_revision},
            body,
        )

    @overload
    async def update_role(
        self,
        *,
        dry_run: Literal[True],
        app_code: str,
        role_id: str,
        body: UpdateRoleBody,
        if_revision: str | None = None,
    ) -> Answer[UpdateRoleDryRun]: ...

    @overload
    async def update_role(
        self,
        *,
        app_code: str,
        role_id: str,
        body: UpdateRoleBody,
        if_revision: str | None = None,
        dry_run: Literal[False] | None = None,
    ) -> Answer[Role]: ...

    @strictly
    async def update_role(
        self,
        *,
        app_code: str,
        role_id: str,
        body: UpdateRoleBody,
        dry_run: bool | None = None,
        if_revision: str | None = None,
    ) -> Answer[Any]:
        """Change a role.

        Needs the bearer token of a SuperAdmin, an app admin of the application, or a panel user with level `edit` on it.
        """
        return await self._call(
            "PUT",
            "/api/applications/{app_code}/roles/{role_id}",
            {"app_code": app_code, "role_id": role_id},
            {"dryRun": dry_run},
            {"usher-if-revision": if_revision},
            body,
        )

    @overload
    async def delete_role(
        self,
        *,
        dry_run: Literal[True],
        app_code: str,
        role_id: str,
        if_revision: str | None = None,
    ) -> Answer[DeleteRoleDryRun]: ...

    @overload
    async def delete_role(
        self,
        *,
        app_code: str,
        role_id: str,
        if_revision: str | None = None,
        dry_run: Literal[False] | None = None,
    ) -> Answer[None]: ...

    @strictly
    async def delete_role(
        self,
        *,
        app_code: str,
        role_id: str,
        dry_run: bool | None = None,
        if_revision: str | None = None,
    ) -> Answer[Any]:
        """Delete a role.

        Its assignments end with it.

        Needs the bearer token of a SuperAdmin, an app admin of the application, or a panel user with level `edit` on it.
        """
        return await self._call(
            "DELETE",
            "/api/applications/{app_code}/roles/{role_id}",
            {"app_code": app_code, "role_id": role_id},
            {"dryRun": dry_run},
            {"usher-if-revision": if_revision},
            None,
        )

    @strictly
    async def list_role_permissions(self, *, app_code: str, role_id: str) -> Answer[RolePermission]:
        """List the permissions of a role.

        Needs the bearer token of a SuperAdmin, an app admin of the application, or a panel user with level `view` on it.
        """
        return await self._call(
            "GET",
            "/api/applications/{app_code}/roles/{role_id}/permissions",
            {"app_code": app_code, "role_id": role_id},
            {},
            {},
            None,
        )

    @overload
    async def replace_role_permissions(
        self,
        *,
        dry_run: Literal[True],
        app_code: str,
        role_id: str,
        body: ReplaceRolePermissionsBody,
        if_match: str | None = None,
        if_revision: str | None = None,
    ) -> Answer[ReplaceRolePermissionsDryRun]: ...

    @overload
    async def replace_role_permissions(
        self,
        *,
        app_code: str,
        role_id: str,
        body: ReplaceRolePermissionsBody,
        if_match: str | None = None,
        if_revision: str | None = None,
        dry_run: Literal[False] | None = None,
    ) -> Answer[RolePermission]: ...

    @strictly
    async def replace_role_permissions(
        self,
        *,
        app_code: str,
        role_id: str,
        body: ReplaceRolePermissionsBody,
        dry_run: bool | None = None,
        if_match: str | None = None,
        if_revision: str | None = None,
    ) -> Answer[Any]:
        """Replace the permissions of a role.

        Needs the bearer token of a SuperAdmin, an app admin of the application, or a panel user with level `edit` on it.
        """
        return await self._call(
            "PUT",
            "/api/applications/{app_code}/roles/{role_id}/permissions",
            {"app_code": app_code, "role_id": role_id},
            {"dryRun": dry_run},
            {"if-match": if_match, "usher-if-revision": if_revision},
            body,
        )

    @strictly
    async def get_matrix(self, *, app_code: str) -> Answer[Matrix]:
        """What every role of an application grants.

        Permissions and roles by code, the number of people who hold each role, and the levels, all of one moment.

        Needs the bearer token of a SuperAdmin, an app admin of the application, or a panel user with level `view` on it.
        """
        return await self._call(
            "GET",
            "/api/applications/{app_code}/matrix",
            {"app_code": app_code},
            {},
            {},
            None,
        )

    @overload
    async def update_matrix(
        self,
        *,
        dry_run: Literal[True],
        app_code: str,
        body: UpdateMatrixBody,
        if_match: str | None = None,
        if_revision: str | None = None,
    ) -> Answer[UpdateMatrixDryRun]: ...

    @overload
    async def update_matrix(
        self,
        *,
        app_code: str,
        body: UpdateMatrixBody,
        if_match: str | None = None,
        if_revision: str | None = None,
        dry_run: Literal[False] | None = None,
    ) -> Answer[Matrix]: ...

    @strictly
    async def update_matrix(
        self,
        *,
        app_code: str,
        body: UpdateMatrixBody,
        dry_run: bool | None = None,
        if_match: str | None = None,
        if_revision: str | None = None,
    ) -> Answer[Any]:
        """Change what roles grant.

        Changes the levels sent, in one transaction, and keeps the others. With `If-Match`: 412 STALE when permissions, roles or levels have changed since they were read; the number of holders does not count.

        Needs the bearer token of a SuperAdmin, an app admin of the application, or a panel user with level `edit` on it.
        """
        return await self._call(
            "PUT",
            "/api/applications/{app_code}/matrix",
            {"app_code": app_code},
            {"dryRun": dry_run},
            {"if-match": if_match, "usher-if-revision": if_revision},
            body,
        )

    @strictly
    async def list_languages(self) -> Answer[list[Language]]:
        """All languages.

        Needs an active user's bearer token.
        """
        return await self._call(
            "GET",
            "/api/languages",
            {},
            {},
            {},
            None,
        )

    @strictly
    async def create_language(self, *, body: CreateLanguageBody) -> Answer[Language]:
        """Add a language.

        Needs the bearer token of a SuperAdmin.
        """
        return await self._call(
            "POST",
            "/api/languages",
            {},
            {},
            {},
            body,
        )

    @strictly
    async def update_language(self, *, code: str, body: UpdateLanguageBody) -> Answer[Language]:
        """Change a language.

        Needs the bearer token of a SuperAdmin.
        """
        return await self._call(
            "PUT",
            "/api/languages/{code}",
            {"code": code},
            {},
            {},
            body,
        )

    @strictly
    async def delete_language(self, *, code: str) -> Answer[None]:
        """Remove a language.

        Refused while a profile, an application, a template or another language's fallback names it.

        Needs the bearer token of a SuperAdmin.
        """
        return await self._call(
            "DELETE",
            "/api/languages/{code}",
            {"code": code},
            {},
            {},
            None,
        )

    @strictly
    async def list_user_roles(self, *, email: str, app_code: str) -> Answer[list[AssignedRole]]:
        """The roles of a user in an application.

        Needs the bearer token of a SuperAdmin, an app admin of the application, or a panel user with level `view` on it.
        """
        return await self._call(
            "GET",
            "/api/users/{email}/apps/{app_code}/roles",
            {"email": email, "app_code": app_code},
            {},
            {},
            None,
        )

    @overload
    async def replace_user_roles(
        self,
        *,
        dry_run: Literal[True],
        email: str,
        app_code: str,
        body: ReplaceUserRolesBody,
        if_match: str | None = None,
        if_revision: str | None = None,
    ) -> Answer[ReplaceUserRolesDryRun]: ...

    @overload
    async def replace_user_roles(
        self,
        *,
        email: str,
        app_code: str,
        body: ReplaceUserRolesBody,
        if_match: str | None = None,
        if_revision: str | None = None,
        dry_run: Literal[False] | None = None,
    ) -> Answer[list[AssignedRole]]: ...

    @strictly
    async def replace_user_roles(
        self,
        *,
        email: str,
        app_code: str,
        body: ReplaceUserRolesBody,
        dry_run: bool | None = None,
        if_match: str | None = None,
        if_revision: str | None = None,
    ) -> Answer[Any]:
        """Replace the roles of a user in an application.

        Works before the user has a record. A role that is held keeps its window, unless the item sends another one. In `auth` only SuperAdmins; a manager of every application may give and take the roles `application_manager` and `panel_admin` there, if they are allowed everything that the change allows.

        Needs the bearer token of a SuperAdmin, an app admin of the application, or a panel user with level `edit` on it.
        """
        return await self._call(
            "PUT",
            "/api/users/{email}/apps/{app_code}/roles",
            {"email": email, "app_code": app_code},
            {"dryRun": dry_run},
            {"if-match": if_match, "usher-if-revision": if_revision},
            body,
        )

    @overload
    async def assign_role(
        self,
        *,
        dry_run: Literal[True],
        email: str,
        app_code: str,
        body: AssignRoleBody,
        if_revision: str | None = None,
    ) -> Answer[AssignRoleDryRun]: ...

    @overload
    async def assign_role(
        self,
        *,
        email: str,
        app_code: str,
        body: AssignRoleBody,
        if_revision: str | None = None,
        dry_run: Literal[False] | None = None,
    ) -> Answer[AssignedRole]: ...

    @strictly
    async def assign_role(
        self,
        *,
        email: str,
        app_code: str,
        body: AssignRoleBody,
        dry_run: bool | None = None,
        if_revision: str | None = None,
    ) -> Answer[Any]:
        """Give a user one role in an application.

        Keeps the other roles, even under concurrent writes; 200 when the user already holds the role: then a window that is sent is changed. Works before the user has a record. In `auth` only SuperAdmins, and managers of every application within the same limits as for the replacement.

        Needs the bearer token of a SuperAdmin, an app admin of the application, or a panel user with level `edit` on it.
        """
        return await self._call(
            "POST",
            "/api/users/{email}/apps/{app_code}/roles",
            {"email": email, "app_code": app_code},
            {"dryRun": dry_run},
            {"usher-if-revision": if_revision},
            body,
        )

    @overload
    async def revoke_role(
        self,
        *,
        dry_run: Literal[True],
        email: str,
        app_code: str,
        role_code: str,
        if_revision: str | None = None,
    ) -> Answer[RevokeRoleDryRun]: ...

    @overload
    async def revoke_role(
        self,
        *,
        email: str,
        app_code: str,
        role_code: str,
        if_revision: str | None = None,
        dry_run: Literal[False] | None = None,
    ) -> Answer[None]: ...

    @strictly
    async def revoke_role(
        self,
        *,
        email: str,
        app_code: str,
        role_code: str,
        dry_run: bool | None = None,
        if_revision: str | None = None,
    ) -> Answer[Any]:
        """Take one role in an application from a user.

        Leaves the other roles alone, even under concurrent writes. 404 when the user does not hold it.

        Needs the bearer token of a SuperAdmin, an app admin of the application, or a panel user with level `edit` on it.
        """
        return await self._call(
            "DELETE",
            "/api/users/{email}/apps/{app_code}/roles/{role_code}",
            {"email": email, "app_code": app_code, "role_code": role_code},
            {"dryRun": dry_run},
            {"usher-if-revision": if_revision},
            None,
        )

    @strictly
    async def list_role_holders(
        self,
        *,
        app_code: str,
        role_id: str,
        limit: int | None = None,
        cursor: str | None = None,
        q: str | None = None,
    ) -> Answer[list[RoleHolder]]:
        """List the holders of a role.

        Needs the bearer token of a SuperAdmin, an app admin of the application, or a panel user with level `view` on it.
        """
        return await self._call(
            "GET",
            "/api/applications/{app_code}/roles/{role_id}/users",
            {"app_code": app_code, "role_id": role_id},
            {"limit": limit, "cursor": cursor, "q": q},
            {},
            None,
        )

    @overload
    async def change_role_holders(
        self,
        *,
        dry_run: Literal[True],
        app_code: str,
        role_id: str,
        body: ChangeRoleHoldersBody,
        if_revision: str | None = None,
    ) -> Answer[ChangeRoleHoldersDryRun]: ...

    @overload
    async def change_role_holders(
        self,
        *,
        app_code: str,
        role_id: str,
        body: ChangeRoleHoldersBody,
        if_revision: str | None = None,
        dry_run: Literal[False] | None = None,
    ) -> Answer[ChangeRoleHoldersAnswer]: ...

    @strictly
    async def change_role_holders(
        self,
        *,
        app_code: str,
        role_id: str,
        body: ChangeRoleHoldersBody,
        dry_run: bool | None = None,
        if_revision: str | None = None,
    ) -> Answer[Any]:
        """Give a role to people, and take it from others.

        In one transaction. Works before they have records. Of people who already hold the role a window that is sent is changed; others, and those who do not hold what is taken away, stay as they are and are not counted. In `auth` only SuperAdmins, and managers of every application within the same limits as for the roles of one user.

        Needs the bearer token of a SuperAdmin, an app admin of the application, or a panel user with level `edit` on it.
        """
        return await self._call(
            "POST",
            "/api/applications/{app_code}/roles/{role_id}/users",
            {"app_code": app_code, "role_id": role_id},
            {"dryRun": dry_run},
            {"usher-if-revision": if_revision},
            body,
        )

    @strictly
    async def list_record_overrides(
        self,
        *,
        email: str,
        app_code: str,
        resource_type: str,
        resource_id: str,
    ) -> Answer[ResourceOverrides]:
        """The overrides of a user for one record.

        Needs the bearer token of a SuperAdmin, an app admin of the application, or a panel user with level `view` on it.
        """
        return await self._call(
            "GET",
            "/api/users/{email}/apps/{app_code}/resources/{resource_type}/{resource_id}/permissions",
            {"email": email, "app_code": app_code, "resource_type": resource_type, "resource_id": resource_id},
            {},
            {},
            None,
        )

    @overload
    async def replace_record_overrides(
        self,
        *,
        dry_run: Literal[True],
        email: str,
        app_code: str,
        resource_type: str,
        resource_id: str,
        body: ReplaceRecordOverridesBody,
        if_match: str | None = None,
        if_revision: str | None = None,
    ) -> Answer[ReplaceRecordOverridesDryRun]: ...

    @overload
    async def replace_record_overrides(
        self,
        *,
        email: str,
        app_code: str,
        resource_type: str,
        resource_id: str,
        body: ReplaceRecordOverridesBody,
        if_match: str | None = None,
        if_revision: str | None = None,
        dry_run: Literal[False] | None = None,
    ) -> Answer[ResourceOverrides]: ...

    @strictly
    async def replace_record_overrides(
        self,
        *,
        email: str,
        app_code: str,
        resource_type: str,
        resource_id: str,
        body: ReplaceRecordOverridesBody,
        dry_run: bool | None = None,
        if_match: str | None = None,
        if_revision: str | None = None,
    ) -> Answer[Any]:
        """Replace the overrides of a user for one record.

        An empty list removes all of them. One that stands keeps its window, unless another one is sent. A granting override of a tiered permission has a level, by default `edit`; a denying one has none. In `auth` only SuperAdmins; a manager of every application may write overrides of `applications.manage` for `application` there, for every application on which they have `edit` themselves.

        Needs the bearer token of a SuperAdmin, an app admin of the application, or a panel user with level `edit` on it.
        """
        return await self._call(
            "PUT",
            "/api/users/{email}/apps/{app_code}/resources/{resource_type}/{resource_id}/permissions",
            {"email": email, "app_code": app_code, "resource_type": resource_type, "resource_id": resource_id},
            {"dryRun": dry_run},
            {"if-match": if_match, "usher-if-revision": if_revision},
            body,
        )

    @strictly
    async def list_user_overrides(
        self,
        *,
        email: str,
        app_code: str,
        limit: int | None = None,
        cursor: str | None = None,
        q: str | None = None,
    ) -> Answer[list[PlacedOverride]]:
        """Every override of a user in an application.

        Needs the bearer token of a SuperAdmin, an app admin of the application, or a panel user with level `view` on it.
        """
        return await self._call(
            "GET",
            "/api/users/{email}/apps/{app_code}/resources",
            {"email": email, "app_code": app_code},
            {"limit": limit, "cursor": cursor, "q": q},
            {},
            None,
        )

    @strictly
    async def list_overrides(
        self,
        *,
        app_code: str,
        limit: int | None = None,
        cursor: str | None = None,
        resource_type: str | None = None,
        resource_id: str | None = None,
        email: str | None = None,
        permission: str | None = None,
        ending_within_days: str | None = None,
    ) -> Answer[list[Override]]:
        """The overrides of everybody in an application.

        By permission, record and person. Filters narrow the list together; a `resourceId` needs its `resourceType`.

        Needs the bearer token of a SuperAdmin, an app admin of the application, or a panel user with level `view` on it.
        """
        return await self._call(
            "GET",
            "/api/applications/{app_code}/overrides",
            {"app_code": app_code},
            {"limit": limit, "cursor": cursor, "resourceType": resource_type, "resourceId": resource_id, "email": email, "permission": permission, "endingWithinDays": ending_within_days},
            {},
            None,
        )

    @overload
    async def delete_overrides(
        self,
        *,
        dry_run: Literal[True],
        app_code: str,
        body: DeleteOverridesBody,
        if_revision: str | None = None,
    ) -> Answer[DeleteOverridesDryRun]: ...

    @overload
    async def delete_overrides(
        self,
        *,
        app_code: str,
        body: DeleteOverridesBody,
        if_revision: str | None = None,
        dry_run: Literal[False] | None = None,
    ) -> Answer[DeleteOverridesAnswer]: ...

    @strictly
    async def delete_overrides(
        self,
        *,
        app_code: str,
        body: DeleteOverridesBody,
        dry_run: bool | None = None,
        if_revision: str | None = None,
    ) -> Answer[Any]:
        """Delete overrides of any people.

        In one transaction. An override that does not exist is not counted. In `auth` only SuperAdmins, and managers of every application within the same limits as for the overrides of one user.

        Needs the bearer token of a SuperAdmin, an app admin of the application, or a panel user with level `edit` on it.
        """
        return await self._call(
            "POST",
            "/api/applications/{app_code}/overrides/delete",
            {"app_code": app_code},
            {"dryRun": dry_run},
            {"usher-if-revision": if_revision},
            body,
        )

    @strictly
    async def list_app_admins(self, *, app_code: str) -> Answer[list[ApplicationAdministrator]]:
        """List the app admins of an application.

        Needs the bearer token of a SuperAdmin, an app admin of the application, or a panel user with level `view` on it.
        """
        return await self._call(
            "GET",
            "/api/users/admins/apps/{app_code}",
            {"app_code": app_code},
            {},
            {},
            None,
        )

    @overload
    async def add_app_admin(
        self,
        *,
        dry_run: Literal[True],
        app_code: str,
        body: ApplicationAdministratorFields,
        if_revision: str | None = None,
    ) -> Answer[AddAppAdminDryRun]: ...

    @overload
    async def add_app_admin(
        self,
        *,
        app_code: str,
        body: ApplicationAdministratorFields,
        if_revision: str | None = None,
        dry_run: Literal[False] | None = None,
    ) -> Answer[ApplicationAdministrator]: ...

    @strictly
    async def add_app_admin(
        self,
        *,
        app_code: str,
        body: ApplicationAdministratorFields,
        dry_run: bool | None = None,
        if_revision: str | None = None,
    ) -> Answer[Any]:
        """Add an app admin to an application.

        200 if they are one already: then a window that is sent is changed.

        Needs the bearer token of a SuperAdmin, an app admin of the application, or a panel user with level `edit` on it.
        """
        return await self._call(
            "POST",
            "/api/users/admins/apps/{app_code}",
            {"app_code": app_code},
            {"dryRun": dry_run},
            {"usher-if-revision": if_revision},
            body,
        )

    @overload
    async def remove_app_admin(
        self,
        *,
        dry_run: Literal[True],
        app_code: str,
        email: str,
        if_revision: str | None = None,
    ) -> Answer[RemoveAppAdminDryRun]: ...

    @overload
    async def remove_app_admin(
        self,
        *,
        app_code: str,
        email: str,
        if_revision: str | None = None,
        dry_run: Literal[False] | None = None,
    ) -> Answer[None]: ...

    @strictly
    async def remove_app_admin(
        self,
        *,
        app_code: str,
        email: str,
        dry_run: bool | None = None,
        if_revision: str | None = None,
    ) -> Answer[Any]:
        """Remove an app admin from an application.

        Needs the bearer token of a SuperAdmin, an app admin of the application, or a panel user with level `edit` on it.
        """
        return await self._call(
            "DELETE",
            "/api/users/admins/apps/{app_code}/{email}",
            {"app_code": app_code, "email": email},
            {"dryRun": dry_run},
            {"usher-if-revision": if_revision},
            None,
        )

    @strictly
    async def list_super_admins(self) -> Answer[list[SuperAdmin]]:
        """All SuperAdmins.

        Needs the bearer token of a SuperAdmin.
        """
        return await self._call(
            "GET",
            "/api/users/admins/super",
            {},
            {},
            {},
            None,
        )

    @overload
    async def add_super_admin(
        self,
        *,
        dry_run: Literal[True],
        body: NewAdministrator,
        if_revision: str | None = None,
    ) -> Answer[AddSuperAdminDryRun]: ...

    @overload
    async def add_super_admin(
        self,
        *,
        body: NewAdministrator,
        if_revision: str | None = None,
        dry_run: Literal[False] | None = None,
    ) -> Answer[SuperAdmin]: ...

    @strictly
    async def add_super_admin(
        self,
        *,
        body: NewAdministrator,
        dry_run: bool | None = None,
        if_revision: str | None = None,
    ) -> Answer[Any]:
        """Add a SuperAdmin.

        200 if they are one already.

        Needs the bearer token of a SuperAdmin.
        """
        return await self._call(
            "POST",
            "/api/users/admins/super",
            {},
            {"dryRun": dry_run},
            {"usher-if-revision": if_revision},
            body,
        )

    @overload
    async def remove_super_admin(
        self,
        *,
        dry_run: Literal[True],
        email: str,
        if_revision: str | None = None,
    ) -> Answer[RemoveSuperAdminDryRun]: ...

    @overload
    async def remove_super_admin(
        self,
        *,
        email: str,
        if_revision: str | None = None,
        dry_run: Literal[False] | None = None,
    ) -> Answer[None]: ...

    @strictly
    async def remove_super_admin(
        self,
        *,
        email: str,
        dry_run: bool | None = None,
        if_revision: str | None = None,
    ) -> Answer[Any]:
        """Remove a SuperAdmin.

        The last active one cannot be removed.

        Needs the bearer token of a SuperAdmin.
        """
        return await self._call(
            "DELETE",
            "/api/users/admins/super/{email}",
            {"email": email},
            {"dryRun": dry_run},
            {"usher-if-revision": if_revision},
            None,
        )

    @strictly
    async def list_users(
        self,
        *,
        limit: int | None = None,
        cursor: str | None = None,
        q: str | None = None,
        active: bool | None = None,
        app_code: str | None = None,
        role: str | None = None,
        permission: str | None = None,
        orphan: Literal["true"] | None = None,
        ending_within_days: str | None = None,
        sort: Literal["email", "createdAt", "lastLoginAt"] | None = None,
    ) -> Answer[list[User]]:
        """Known addresses.

        In the order in which they were first mentioned, or sorted. Filters narrow the list together. Callers other than SuperAdmins see users of the applications that they may view: with a role, an override, preferences, a login or the administration of one.

        Needs the bearer token of a SuperAdmin, an app admin of any application, or a panel user.
        """
        return await self._call(
            "GET",
            "/api/users",
            {},
            {"limit": limit, "cursor": cursor, "q": q, "active": active, "appCode": app_code, "role": role, "permission": permission, "orphan": orphan, "endingWithinDays": ending_within_days, "sort": sort},
            {},
            None,
        )

    @strictly
    async def get_user(self, *, email: str) -> Answer[UserDetail]:
        """A user with logins and roles.

        Limited to the applications that the caller may view; the user must be in one of them.

        Needs the bearer token of a SuperAdmin, an app admin of any application, or a panel user.
        """
        return await self._call(
            "GET",
            "/api/users/{email}",
            {"email": email},
            {},
            {},
            None,
        )

    @overload
    async def set_user_active(
        self,
        *,
        dry_run: Literal[True],
        email: str,
        body: SetUserActiveBody,
        if_revision: str | None = None,
    ) -> Answer[SetUserActiveDryRun]: ...

    @overload
    async def set_user_active(
        self,
        *,
        email: str,
        body: SetUserActiveBody,
        if_revision: str | None = None,
        dry_run: Literal[False] | None = None,
    ) -> Answer[User]: ...

    @strictly
    async def set_user_active(
        self,
        *,
        email: str,
        body: SetUserActiveBody,
        dry_run: bool | None = None,
        if_revision: str | None = None,
    ) -> Answer[Any]:
        """Block or unblock a user.

        A user is active when active at the identity provider and not blocked by an administrator. This sets the second flag and leaves the first as it is.

        Needs the bearer token of a SuperAdmin.
        """
        return await self._call(
            "PUT",
            "/api/users/{email}/active",
            {"email": email},
            {"dryRun": dry_run},
            {"usher-if-revision": if_revision},
            body,
        )

    @strictly
    async def forget_user_account(self, *, email: str) -> Answer[None]:
        """Forget which account of the identity provider an address belongs to.

        The next token of that address binds it again.

        Needs the bearer token of a SuperAdmin.
        """
        return await self._call(
            "DELETE",
            "/api/users/{email}/subject",
            {"email": email},
            {},
            {},
            None,
        )

    @strictly
    async def set_user_account(
        self,
        *,
        email: str,
        body: SetUserAccountBody,
    ) -> Answer[UserAccount]:
        """Name the account of the identity provider that an address belongs to.

        Where accounts are bound, only tokens of this account are admitted with this address, and they may use its administrative rights.

        Needs the bearer token of a SuperAdmin.
        """
        return await self._call(
            "PUT",
            "/api/users/{email}/account",
            {"email": email},
            {},
            {},
            body,
        )

    @strictly
    async def get_my_admin_status(self) -> Answer[AdminStatus]:
        """Show what I may administer.

        Needs an active user's bearer token.
        """
        return await self._call(
            "GET",
            "/api/profile/me/admin-status",
            {},
            {},
            {},
            None,
        )

    @strictly
    async def import_users(
        self,
        *,
        body: ImportUsersBody,
        dry_run: bool | None = None,
    ) -> Answer[ImportResult]:
        """Import people.

        Makes the people who are missing, at most 500 in one transaction, and changes the others where the list says something else; repeated it changes nothing. Names are taken only where nobody has changed them. What is absent stays; roles are given and never taken. Every fault is told at once, unknown roles, brands and languages among them.

        Needs the bearer token of a SuperAdmin. Or an internal API key with the scopes `profile` and `manifest`, which is not for browsers.
        """
        return await self._call(
            "POST",
            "/api/users/import",
            {},
            {"dryRun": dry_run},
            {},
            body,
        )

    @strictly
    async def export_my_data(self) -> Answer[PersonalData]:
        """Everything that is stored about me.

        One JSON document, sent in pieces: profile, roles, overrides, administration, preferences, push subscriptions without their keys, logins, notifications with their deliveries, audit records. An answer that breaks off is not valid JSON.

        Needs an active user's bearer token.
        """
        return await self._call(
            "GET",
            "/api/profile/me/export",
            {},
            {},
            {},
            None,
        )

    @strictly
    async def export_user_data(self, *, email: str) -> Answer[PersonalData]:
        """Everything that is stored about a person.

        One JSON document, sent in pieces: profile, roles, overrides, administration, preferences, push subscriptions without their keys, logins, notifications with their deliveries, audit records. An answer that breaks off is not valid JSON.

        Needs the bearer token of a SuperAdmin.
        """
        return await self._call(
            "GET",
            "/api/users/{email}/export",
            {"email": email},
            {},
            {},
            None,
        )

    @overload
    async def erase_user(
        self,
        *,
        dry_run: Literal[True],
        email: str,
        if_revision: str | None = None,
    ) -> Answer[EraseUserDryRun]: ...

    @overload
    async def erase_user(
        self,
        *,
        email: str,
        if_revision: str | None = None,
        dry_run: Literal[False] | None = None,
    ) -> Answer[ErasureReceipt]: ...

    @strictly
    async def erase_user(
        self,
        *,
        email: str,
        dry_run: bool | None = None,
        if_revision: str | None = None,
    ) -> Answer[Any]:
        """Erase a person.

        Every right ends in one transaction; the rest follows, and the answer comes when nothing is left. Audit records stay, with a pseudonym in place of the address. Repeated, it answers the receipt again. After 503 the rights may have ended already: repeat it.

        Needs the bearer token of a SuperAdmin.
        """
        return await self._call(
            "POST",
            "/api/users/{email}/erase",
            {"email": email},
            {"dryRun": dry_run},
            {"usher-if-revision": if_revision},
            None,
        )

    @overload
    async def move_user(
        self,
        *,
        dry_run: Literal[True],
        email: str,
        body: MoveUserBody,
        if_revision: str | None = None,
    ) -> Answer[MoveUserDryRun]: ...

    @overload
    async def move_user(
        self,
        *,
        email: str,
        body: MoveUserBody,
        if_revision: str | None = None,
        dry_run: Literal[False] | None = None,
    ) -> Answer[Moved]: ...

    @strictly
    async def move_user(
        self,
        *,
        email: str,
        body: MoveUserBody,
        dry_run: bool | None = None,
        if_revision: str | None = None,
    ) -> Answer[Any]:
        """Move a person to another address.

        In one transaction, and one change of the policy: roles, overrides, seats, being a SuperAdmin, profile, preferences, subscriptions, inbox and accounts. A bare profile at the new address is replaced; the old address stays, inactive, with `movedTo`.

        Needs the bearer token of a SuperAdmin.
        """
        return await self._call(
            "POST",
            "/api/users/{email}/move",
            {"email": email},
            {"dryRun": dry_run},
            {"usher-if-revision": if_revision},
            body,
        )

    @overload
    async def offboard_user(
        self,
        *,
        dry_run: Literal[True],
        email: str,
        if_revision: str | None = None,
        body: OffboardUserBody | None = None,
    ) -> Answer[OffboardUserDryRun]: ...

    @overload
    async def offboard_user(
        self,
        *,
        email: str,
        if_revision: str | None = None,
        body: OffboardUserBody | None = None,
        dry_run: Literal[False] | None = None,
    ) -> Answer[Offboarded]: ...

    @strictly
    async def offboard_user(
        self,
        *,
        email: str,
        dry_run: bool | None = None,
        if_revision: str | None = None,
        body: OffboardUserBody | None = None,
    ) -> Answer[Any]:
        """Block a person and end every right.

        In one transaction: blocked, no SuperAdmin, no roles, overrides or administration of applications. `handOverTo` becomes an administrator of the same applications. Profile, inbox and preferences stay. Repeated it changes nothing.

        Needs the bearer token of a SuperAdmin.
        """
        return await self._call(
            "POST",
            "/api/users/{email}/offboard",
            {"email": email},
            {"dryRun": dry_run},
            {"usher-if-revision": if_revision},
            body,
        )

    @strictly
    async def list_my_access(self, *, min_revision: str | None = None) -> Answer[Access]:
        """List my access in every application.

        Roles, permissions that need no record, overrides, and the last login.

        Needs an active user's bearer token.
        """
        return await self._call(
            "GET",
            "/api/profile/me/access",
            {},
            {},
            {"usher-min-revision": min_revision},
            None,
        )

    @strictly
    async def list_user_access(
        self,
        *,
        email: str,
        min_revision: str | None = None,
    ) -> Answer[Access]:
        """List the access of a user in every application.

        Roles, permissions that need no record, overrides, and the last login, in the applications that the caller may view; others are left out.

        Needs the bearer token of a SuperAdmin, an app admin of any application, or a panel user.
        """
        return await self._call(
            "GET",
            "/api/users/{email}/access",
            {"email": email},
            {},
            {"usher-min-revision": min_revision},
            None,
        )

    @strictly
    async def search(self, *, q: str) -> Answer[SearchAnswer]:
        """Search people, applications, roles and permissions.

        The best five of each kind, cut to what the caller may see: exact matches first, then those that begin with the text, then those that contain it. People are found by address or name, applications by code or name, roles and permissions by code.

        Needs the bearer token of a SuperAdmin, an app admin of any application, or a panel user.
        """
        return await self._call(
            "GET",
            "/api/search",
            {},
            {"q": q},
            {},
            None,
        )

    @strictly
    async def list_audit(
        self,
        *,
        limit: int | None = None,
        cursor: str | None = None,
        app_code: str | None = None,
        actor: str | None = None,
        subject: str | None = None,
        action: str | None = None,
        person: str | None = None,
        action_prefix: str | None = None,
        q: str | None = None,
        from_: str | None = None,
        to: str | None = None,
    ) -> Answer[list[AuditRecord]]:
        """All records, the newest first.

        Needs the bearer token of a SuperAdmin.
        """
        return await self._call(
            "GET",
            "/api/admin/audit",
            {},
            {"limit": limit, "cursor": cursor, "appCode": app_code, "actor": actor, "subject": subject, "action": action, "person": person, "actionPrefix": action_prefix, "q": q, "from": from_, "to": to},
            {},
            None,
        )

    @strictly
    async def list_application_audit(
        self,
        *,
        app_code: str,
        limit: int | None = None,
        cursor: str | None = None,
        actor: str | None = None,
        subject: str | None = None,
        action: str | None = None,
        person: str | None = None,
        action_prefix: str | None = None,
        q: str | None = None,
        from_: str | None = None,
        to: str | None = None,
    ) -> Answer[list[AuditRecord]]:
        """The records of an application, the newest first.

        Needs the bearer token of a SuperAdmin, an app admin of the application, or a panel user with level `view` on it.
        """
        return await self._call(
            "GET",
            "/api/applications/{app_code}/audit",
            {"app_code": app_code},
            {"limit": limit, "cursor": cursor, "actor": actor, "subject": subject, "action": action, "person": person, "actionPrefix": action_prefix, "q": q, "from": from_, "to": to},
            {},
            None,
        )

    @strictly
    async def get_overview(self) -> Answer[Overview]:
        """The state of everything that the caller may see.

        Needs the bearer token of a SuperAdmin, an app admin of any application, or a panel user.
        """
        return await self._call(
            "GET",
            "/api/admin/overview",
            {},
            {},
            {},
            None,
        )

    @strictly
    async def list_keys(self) -> Answer[list[InternalKey]]:
        """The internal keys, without their values.

        In the order of the configuration of the instance that answers. A key is known by its name: another key of the same name goes on with its uses.

        Needs the bearer token of a SuperAdmin.
        """
        return await self._call(
            "GET",
            "/api/admin/keys",
            {},
            {},
            {},
            None,
        )

    @strictly
    async def get_config(self) -> Answer[list[ConfigurationValue]]:
        """The effective configuration, secrets masked.

        Of the instance that answers, as the command `config` prints it.

        Needs the bearer token of a SuperAdmin.
        """
        return await self._call(
            "GET",
            "/api/admin/config",
            {},
            {},
            {},
            None,
        )

    @strictly
    async def apply_manifest(
        self,
        *,
        body: Manifest,
        dry_run: bool | None = None,
        prune: bool | None = None,
        if_revision: str | None = None,
    ) -> Answer[ApplyManifestAnswer]:
        """Apply a manifest.

        Compares the manifest with the application and carries out the difference in one transaction; applying it twice changes nothing. An absent section is left alone; records that a section does not name stay, unless `prune` is set. Every fault is reported at once: `details.issues` with `path`, `message`, `line` and `column`. With `Accept: application/x-ndjson` lines of `{"progress": {"done", "total"}}` come first. A key with the scope `manifest` may apply everything that a SuperAdmin may, to `auth` too.

        Needs the bearer token of a SuperAdmin. Or an internal API key with the scope `manifest`, which is not for browsers.
        """
        return await self._call(
            "POST",
            "/api/manifests/apply",
            {},
            {"dryRun": dry_run, "prune": prune},
            {"usher-if-revision": if_revision},
            body,
        )

    @strictly
    async def apply_own_manifest(
        self,
        *,
        app_code: str,
        body: Manifest,
        dry_run: bool | None = None,
        prune: bool | None = None,
        if_revision: str | None = None,
    ) -> Answer[ApplyOwnManifestAnswer]:
        """Apply a manifest to its own application.

        As `POST /api/manifests/apply`, for the administrators of this application, who carry out at once what they may write singly. A manifest of another application is 400. One part that only a SuperAdmin may write (the type `auth_idp` and its templates) refuses the whole with 403. The application must exist.

        Needs the bearer token of a SuperAdmin, an app admin of the application, or a panel user with level `edit` on it.
        """
        return await self._call(
            "POST",
            "/api/applications/{app_code}/manifest",
            {"app_code": app_code},
            {"dryRun": dry_run, "prune": prune},
            {"usher-if-revision": if_revision},
            body,
        )

    @strictly
    async def export_manifest(self, *, app_code: str) -> Answer[Manifest]:
        """Export an application as a manifest.

        The input of `POST /api/manifests/apply`: applied with `prune` it restores exactly this state. In a stable order.

        Needs the bearer token of a SuperAdmin, an app admin of the application, or a panel user with level `view` on it. Or an internal API key with the scope `manifest`, which is not for browsers.
        """
        return await self._call(
            "GET",
            "/api/applications/{app_code}/manifest",
            {"app_code": app_code},
            {},
            {},
            None,
        )

    @strictly
    async def record_registration_locale(
        self,
        *,
        body: RecordRegistrationLocaleBody,
    ) -> Answer[RecordRegistrationLocaleAnswer]:
        """Record the language in which a user registers.

        Kept for 24 hours, for registration e-mails and the future profile. A language that the registry or the application `auth` lacks becomes `en`.

        Needs an internal API key with the scope `profile`; without configured keys that of `dataDir/internal-api-key`. Not for browsers.
        """
        return await self._call(
            "PUT",
            "/api/internal/auth/registration-locale",
            {},
            {},
            {},
            body,
        )

    @strictly
    async def list_provider_events(self) -> Answer[ProviderEvents]:
        """The last events and e-mails of the provider, and what came of them.

        The newest first, at most 200. No codes, links or texts of mails are stored.

        Needs the bearer token of a SuperAdmin.
        """
        return await self._call(
            "GET",
            "/api/idp/admin/events",
            {},
            {},
            {},
            None,
        )

    @strictly
    async def get_notification_provider(self) -> Answer[NotificationProvider]:
        """Show whether the provider sends its e-mails through this service.

        From the stored state; the provider is not queried.

        Needs the bearer token of a SuperAdmin.
        """
        return await self._call(
            "GET",
            "/api/idp/admin/notification-provider",
            {},
            {},
            {},
            None,
        )

    @strictly
    async def set_up_notification_provider(self) -> Answer[NotificationProvider]:
        """Make the provider send its e-mails through this service.

        Finds or creates it there, stores its signing key sealed, and activates it. Safe to repeat after a failure.

        Needs the bearer token of a SuperAdmin.
        """
        return await self._call(
            "POST",
            "/api/idp/admin/notification-provider/setup",
            {},
            {},
            {},
            None,
        )

    @strictly
    async def activate_notification_provider(self) -> Answer[NotificationProvider]:
        """Activate the notification provider again.

        Needs the bearer token of a SuperAdmin.
        """
        return await self._call(
            "POST",
            "/api/idp/admin/notification-provider/activate",
            {},
            {},
            {},
            None,
        )

    @strictly
    async def list_organizations(self) -> Answer[list[Organization]]:
        """All organizations of the provider.

        Needs the bearer token of a SuperAdmin.
        """
        return await self._call(
            "GET",
            "/api/idp/admin/orgs",
            {},
            {},
            {},
            None,
        )

    @strictly
    async def create_organization(self, *, body: CreateOrganizationBody) -> Answer[Organization]:
        """Create an organization at the provider.

        Needs the bearer token of a SuperAdmin.
        """
        return await self._call(
            "POST",
            "/api/idp/admin/orgs",
            {},
            {},
            {},
            body,
        )

    @strictly
    async def update_organization_branding(
        self,
        *,
        org_id: str,
        body: UpdateOrganizationBrandingBody,
    ) -> Answer[UpdateOrganizationBrandingAnswer]:
        """Change how an organization's login pages look.

        Changes the fields sent. The logo is fetched and passed to the provider: PNG, JPEG, GIF or WebP, at most 512 KiB.

        Needs the bearer token of a SuperAdmin.
        """
        return await self._call(
            "PUT",
            "/api/idp/admin/orgs/{org_id}/branding",
            {"org_id": org_id},
            {},
            {},
            body,
        )

    @strictly
    async def set_up_organization(
        self,
        *,
        org_id: str,
        body: SetUpOrganizationBody,
    ) -> Answer[SetUpOrganizationAnswer]:
        """Create a project and an OpenID Connect client for an application.

        Finds each by its name or creates it, so it is safe to repeat. The organization then belongs to the application.

        Needs the bearer token of a SuperAdmin.
        """
        return await self._call(
            "POST",
            "/api/idp/admin/orgs/{org_id}/setup",
            {"org_id": org_id},
            {},
            {},
            body,
        )

    @strictly
    async def set_up_provider_actions(self) -> Answer[EventActions]:
        """Make the provider send its user events to this service.

        Finds or makes a target and an execution for each type, and stores the signing key sealed. Safe to repeat after a failure; other targets of the same events stay.

        Needs the bearer token of a SuperAdmin.
        """
        return await self._call(
            "POST",
            "/api/idp/admin/actions/setup",
            {},
            {},
            {},
            None,
        )

    @strictly
    async def reconcile(
        self,
        *,
        dry_run: bool | None = None,
        body: ReconcileBody | None = None,
    ) -> Answer[Reconciliation]:
        """Find and apply the user events that the webhook has lost.

        Reads all users of the provider, compares them with the people here, asks for each difference by address, and applies what the webhook would have. Nothing is done where the provider's list is incomplete, or where more people would be deactivated than the brake allows. After 502 or 503 repeat it: what was applied stays.

        Needs the bearer token of a SuperAdmin.
        """
        return await self._call(
            "POST",
            "/api/idp/reconcile",
            {},
            {"dryRun": dry_run},
            {},
            body,
        )

    @strictly
    async def list_brands(self) -> Answer[list[Brand]]:
        """All brands.

        Needs the bearer token of a SuperAdmin, or of a user with `panel.access`.
        """
        return await self._call(
            "GET",
            "/api/admin/brands",
            {},
            {},
            {},
            None,
        )

    @strictly
    async def create_brand(self, *, body: CreateBrandBody) -> Answer[Brand]:
        """Create a brand.

        Needs the bearer token of a SuperAdmin.
        """
        return await self._call(
            "POST",
            "/api/admin/brands",
            {},
            {},
            {},
            body,
        )

    @strictly
    async def get_brand(self, *, id: str) -> Answer[Brand]:
        """One brand.

        Needs the bearer token of a SuperAdmin, or of a user with `panel.access`.
        """
        return await self._call(
            "GET",
            "/api/admin/brands/{id}",
            {"id": id},
            {},
            {},
            None,
        )

    @strictly
    async def update_brand(self, *, id: str, body: UpdateBrandBody) -> Answer[Brand]:
        """Change a brand.

        Changes the fields sent, also within `smtp`. `smtp: null` removes the mail server, `idpOrgId: null` the organization.

        Needs the bearer token of a SuperAdmin.
        """
        return await self._call(
            "PUT",
            "/api/admin/brands/{id}",
            {"id": id},
            {},
            {},
            body,
        )

    @strictly
    async def delete_brand(self, *, id: str) -> Answer[None]:
        """Delete a brand.

        Refused for the default brand and for brands that users or an organization use.

        Needs the bearer token of a SuperAdmin.
        """
        return await self._call(
            "DELETE",
            "/api/admin/brands/{id}",
            {"id": id},
            {},
            {},
            None,
        )

    @strictly
    async def send_brand_test_email(
        self,
        *,
        id: str,
        body: SendBrandTestEmailBody,
    ) -> Answer[SendBrandTestEmailAnswer]:
        """Send a test through a brand's mail server.

        Needs the bearer token of a SuperAdmin.
        """
        return await self._call(
            "POST",
            "/api/admin/brands/{id}/test-email",
            {"id": id},
            {},
            {},
            body,
        )

    @strictly
    async def remove_brand_logo(self, *, id: str) -> Answer[Brand]:
        """Remove the logo of a brand.

        Mails that were sent show the image for 90 days.

        Needs the bearer token of a SuperAdmin.
        """
        return await self._call(
            "DELETE",
            "/api/admin/brands/{id}/logo",
            {"id": id},
            {},
            {},
            None,
        )

    @strictly
    async def remove_brand_icon(self, *, id: str) -> Answer[Brand]:
        """Remove the icon of a brand.

        Mails that were sent show the image for 90 days.

        Needs the bearer token of a SuperAdmin.
        """
        return await self._call(
            "DELETE",
            "/api/admin/brands/{id}/icon",
            {"id": id},
            {},
            {},
            None,
        )

    @strictly
    async def list_brand_looks(self) -> Answer[list[BrandLook]]:
        """How the brands look.

        All brands by slug, for every administrator: what a choice of brands shows. Senders and mail servers stand in `/api/admin/brands`.

        Needs the bearer token of a SuperAdmin, an app admin of any application, or a panel user.
        """
        return await self._call(
            "GET",
            "/api/brands",
            {},
            {},
            {},
            None,
        )

    @strictly
    async def preview_brand(
        self,
        *,
        id: str,
        body: PreviewBrandBody,
    ) -> Answer[PreviewBrandAnswer | PreviewBrandAnswer2 | PreviewBrandAnswer3]:
        """Preview the look of a brand.

        Sample words in the look of the brand: a mail, the page behind its unsubscribe link, or a push. Nothing is sent or stored, and links and buttons lead nowhere. Fields of a look that are sent take the place of the stored ones: a draft can be seen before it is saved. A real push has the icon of its send.

        Needs the bearer token of a SuperAdmin.
        """
        return await self._call(
            "POST",
            "/api/admin/brands/{id}/preview",
            {"id": id},
            {},
            {},
            body,
        )

    @strictly
    async def list_refused_mails(self) -> Answer[ListRefusedMailsAnswer]:
        """The e-mails of the provider that could not be sent.

        The newest first, at most 200; kept 30 days. What they say is kept sealed until they are sent, and shown nowhere.

        Needs the bearer token of a SuperAdmin.
        """
        return await self._call(
            "GET",
            "/api/idp/admin/mails",
            {},
            {},
            {},
            None,
        )

    @strictly
    async def send_refused_mail(self, *, id: str) -> Answer[SendRefusedMailAnswer]:
        """Send an e-mail that was refused.

        Once, by the brand that carries its organization now, in the words of today. A code or link in it may have expired meanwhile.

        Needs the bearer token of a SuperAdmin.
        """
        return await self._call(
            "POST",
            "/api/idp/admin/mails/{id}/send",
            {"id": id},
            {},
            {},
            None,
        )

    @strictly
    async def list_notification_types(self, *, app_code: str) -> Answer[list[NotificationType]]:
        """All notification types of an application.

        Needs the bearer token of a SuperAdmin, an app admin of the application, or a panel user with level `view` on it.
        """
        return await self._call(
            "GET",
            "/api/applications/{app_code}/notification-types",
            {"app_code": app_code},
            {},
            {},
            None,
        )

    @strictly
    async def create_notification_type(
        self,
        *,
        app_code: str,
        body: CreateNotificationTypeBody,
    ) -> Answer[NotificationType]:
        """Create a notification type.

        Needs the bearer token of a SuperAdmin, an app admin of the application, or a panel user with level `edit` on it.
        """
        return await self._call(
            "POST",
            "/api/applications/{app_code}/notification-types",
            {"app_code": app_code},
            {},
            {},
            body,
        )

    @strictly
    async def update_notification_type(
        self,
        *,
        app_code: str,
        id: str,
        body: UpdateNotificationTypeBody,
    ) -> Answer[NotificationType]:
        """Change a notification type.

        The switches of `auth_idp`, which sends codes of the identity provider, cannot be changed.

        Needs the bearer token of a SuperAdmin, an app admin of the application, or a panel user with level `edit` on it.
        """
        return await self._call(
            "PUT",
            "/api/applications/{app_code}/notification-types/{id}",
            {"app_code": app_code, "id": id},
            {},
            {},
            body,
        )

    @strictly
    async def delete_notification_type(self, *, app_code: str, id: str) -> Answer[None]:
        """Delete a notification type.

        Needs the bearer token of a SuperAdmin, an app admin of the application, or a panel user with level `edit` on it.
        """
        return await self._call(
            "DELETE",
            "/api/applications/{app_code}/notification-types/{id}",
            {"app_code": app_code, "id": id},
            {},
            {},
            None,
        )

    @strictly
    async def list_templates(self, *, app_code: str) -> Answer[list[Template]]:
        """All templates of an application.

        Needs the bearer token of a SuperAdmin, an app admin of the application, or a panel user with level `view` on it.
        """
        return await self._call(
            "GET",
            "/api/applications/{app_code}/templates",
            {"app_code": app_code},
            {},
            {},
            None,
        )

    @strictly
    async def create_template(self, *, app_code: str, body: CreateTemplateBody) -> Answer[Template]:
        """Create a template.

        Liquid: output is escaped in `html` and nowhere else; there are no partials and no files. A part that does not parse is refused with its line and column.

        Needs the bearer token of a SuperAdmin, an app admin of the application, or a panel user with level `edit` on it.
        """
        return await self._call(
            "POST",
            "/api/applications/{app_code}/templates",
            {"app_code": app_code},
            {},
            {},
            body,
        )

    @strictly
    async def update_template(
        self,
        *,
        app_code: str,
        id: str,
        body: UpdateTemplateBody,
    ) -> Answer[Template]:
        """Change a template.

        Needs the bearer token of a SuperAdmin, an app admin of the application, or a panel user with level `edit` on it.
        """
        return await self._call(
            "PUT",
            "/api/applications/{app_code}/templates/{id}",
            {"app_code": app_code, "id": id},
            {},
            {},
            body,
        )

    @strictly
    async def delete_template(self, *, app_code: str, id: str) -> Answer[None]:
        """Delete a template.

        Needs the bearer token of a SuperAdmin, an app admin of the application, or a panel user with level `edit` on it.
        """
        return await self._call(
            "DELETE",
            "/api/applications/{app_code}/templates/{id}",
            {"app_code": app_code, "id": id},
            {},
            {},
            None,
        )

    @strictly
    async def preview_new_template(
        self,
        *,
        app_code: str,
        body: PreviewNewTemplateBody,
    ) -> Answer[TemplatePreview]:
        """Preview a template that is not stored.

        As the preview of a stored template. The body may hold every field of a template beside the payload, so that an editor sends what it edits; type, key and `requiredVariables` change nothing, but a type or language that does not exist is refused. A part that does not parse is refused with its line and column.

        Needs the bearer token of a SuperAdmin, an app admin of the application, or a panel user with level `view` on it.
        """
        return await self._call(
            "POST",
            "/api/applications/{app_code}/templates/preview",
            {"app_code": app_code},
            {},
            {},
            body,
        )

    @strictly
    async def preview_template(
        self,
        *,
        app_code: str,
        id: str,
        body: PreviewTemplateBody,
    ) -> Answer[TemplatePreview]:
        """Preview a template.

        Renders it for the caller with this payload; variables that the payload lacks are empty. Nothing is sent or stored.

        Needs the bearer token of a SuperAdmin, an app admin of the application, or a panel user with level `view` on it.
        """
        return await self._call(
            "POST",
            "/api/applications/{app_code}/templates/{id}/preview",
            {"app_code": app_code, "id": id},
            {},
            {},
            body,
        )

    @strictly
    async def send_test_template(
        self,
        *,
        app_code: str,
        id: str,
        body: SendTestTemplateBody | None = None,
    ) -> Answer[SendTestTemplateAnswer]:
        """Send a template to oneself.

        Renders it as the preview does and sends one mail to the caller, through the mail server of the caller's brand, else of the default one. Answers what the server said. No preferences count, and the mail has no unsubscribe link. At most 10 a minute and caller (429).

        Needs the bearer token of a SuperAdmin, an app admin of the application, or a panel user with level `edit` on it.
        """
        return await self._call(
            "POST",
            "/api/applications/{app_code}/templates/{id}/test",
            {"app_code": app_code, "id": id},
            {},
            {},
            body,
        )

    @strictly
    async def notify(self, *, body: NotifyBody) -> Answer[SentNotifications]:
        """Send a notification.

        One notification per recipient, one delivery per channel that applies. A send answered with 202 is stored and is delivered at least once. A send with more than 64 MiB of rendered text for all recipients together is refused (413); while too much is being rendered for other sends, 503.

        Needs an internal API key with the scope `notify`; without configured keys that of `dataDir/internal-api-key`. Not for browsers.
        """
        return await self._call(
            "POST",
            "/api/internal/notifications",
            {},
            {},
            {},
            body,
        )

    @strictly
    async def send_notification(
        self,
        *,
        app_code: str,
        body: SendNotificationBody,
    ) -> Answer[SentNotifications]:
        """Send a notification.

        One notification per recipient, one delivery per channel that applies. A send answered with 202 is stored and is delivered at least once. A send with more than 64 MiB of rendered text for all recipients together is refused (413); while too much is being rendered for other sends, 503.

        Needs the bearer token of a SuperAdmin, an app admin of the application, or a panel user with level `edit` on it.
        """
        return await self._call(
            "POST",
            "/api/applications/{app_code}/notifications",
            {"app_code": app_code},
            {},
            {},
            body,
        )

    @strictly
    async def list_notifications(
        self,
        *,
        app_code: str,
        limit: int | None = None,
        cursor: str | None = None,
        status: Literal["queued", "sent", "partial", "failed", "suppressed"] | None = None,
        type: str | None = None,
        email: str | None = None,
    ) -> Answer[list[NotificationRecord]]:
        """List the notifications of an application, newest first.

        Needs the bearer token of a SuperAdmin, an app admin of the application, or a panel user with level `view` on it.
        """
        return await self._call(
            "GET",
            "/api/applications/{app_code}/notifications",
            {"app_code": app_code},
            {"limit": limit, "cursor": cursor, "status": status, "type": type, "email": email},
            {},
            None,
        )

    @strictly
    async def get_notification(self, *, app_code: str, id: str) -> Answer[NotificationRecord]:
        """One notification of an application.

        Needs the bearer token of a SuperAdmin, an app admin of the application, or a panel user with level `view` on it.
        """
        return await self._call(
            "GET",
            "/api/applications/{app_code}/notifications/{id}",
            {"app_code": app_code, "id": id},
            {},
            {},
            None,
        )

    @strictly
    async def retry_notification(self, *, app_code: str, id: str) -> Answer[NotificationRecord]:
        """Retry the failed deliveries of a notification.

        Successful deliveries are not repeated. Returns the current log entry.

        Needs the bearer token of a SuperAdmin, an app admin of the application, or a panel user with level `edit` on it.
        """
        return await self._call(
            "POST",
            "/api/applications/{app_code}/notifications/{id}/retry",
            {"app_code": app_code, "id": id},
            {},
            {},
            None,
        )

    @strictly
    async def cancel_notification(
        self,
        *,
        app_code: str,
        id: str,
        withdraw: bool | None = None,
    ) -> Answer[TakenBack]:
        """Take back what has not left of a notification.

        What waits becomes `skipped`, reason `cancelled`; what has left stays. Repeating it changes nothing more.

        Needs the bearer token of a SuperAdmin, an app admin of the application, or a panel user with level `edit` on it.
        """
        return await self._call(
            "POST",
            "/api/applications/{app_code}/notifications/{id}/cancel",
            {"app_code": app_code, "id": id},
            {"withdraw": withdraw},
            {},
            None,
        )

    @strictly
    async def cancel_notifications(
        self,
        *,
        app_code: str,
        body: CancelNotificationsBody,
        withdraw: bool | None = None,
    ) -> Answer[TakenBackOfSeveral]:
        """Take back what has not left of several notifications.

        What waits becomes `skipped`, reason `cancelled`; what has left stays. Repeating it changes nothing more. Either the notifications that a send has answered (`ids`), or all that wait for a delivery (`waiting`).

        Needs the bearer token of a SuperAdmin, an app admin of the application, or a panel user with level `edit` on it.
        """
        return await self._call(
            "POST",
            "/api/applications/{app_code}/notifications/cancel",
            {"app_code": app_code},
            {"withdraw": withdraw},
            {},
            body,
        )

    @strictly
    async def list_all_notifications(
        self,
        *,
        limit: int | None = None,
        cursor: str | None = None,
        status: Literal["queued", "sent", "partial", "failed", "suppressed"] | None = None,
        type: str | None = None,
        email: str | None = None,
        app_code: str | None = None,
    ) -> Answer[list[NotificationRecordOfApplication]]:
        """List the notifications of the caller's applications, newest first.

        Needs the bearer token of a SuperAdmin, an app admin of any application, or a panel user.
        """
        return await self._call(
            "GET",
            "/api/admin/notifications",
            {},
            {"limit": limit, "cursor": cursor, "status": status, "type": type, "email": email, "appCode": app_code},
            {},
            None,
        )

    @strictly
    async def get_notification_stats(
        self,
        *,
        hours: int | None = None,
        app_code: str | None = None,
    ) -> Answer[list[SendCount]]:
        """Count the attempted deliveries of the caller's applications.

        By hour, channel, brand and outcome; the newest hour first. Of at most 100,000 notifications and 10,000 rows: `since` says from when on they are complete. Deliveries without an attempt are not counted.

        Needs the bearer token of a SuperAdmin, an app admin of any application, or a panel user.
        """
        return await self._call(
            "GET",
            "/api/admin/notifications/stats",
            {},
            {"hours": hours, "appCode": app_code},
            {},
            None,
        )

    @strictly
    async def retry_notifications(
        self,
        *,
        body: RetryNotificationsBody,
    ) -> Answer[RetryNotificationsAnswer]:
        """Retry failed deliveries in several applications.

        Of at most 10,000 notifications, the oldest first, in the applications that the caller may edit; `more` says whether others are left. Successful deliveries are not repeated, and one that another call has queued is not queued twice.

        Needs the bearer token of a SuperAdmin, an app admin of any application, or a panel user.
        """
        return await self._call(
            "POST",
            "/api/admin/notifications/retry",
            {},
            {},
            {},
            body,
        )

    @strictly
    async def list_my_notification_preferences(
        self,
        *,
        app_code: str,
    ) -> Answer[list[NotificationPreference]]:
        """The caller's switches for every notification type of an application.

        Needs an active user's bearer token.
        """
        return await self._call(
            "GET",
            "/api/profile/me/notifications/{app_code}",
            {"app_code": app_code},
            {},
            {},
            None,
        )

    @strictly
    async def update_my_notification_preferences(
        self,
        *,
        body: UpdateMyNotificationPreferencesBody,
    ) -> Answer[list[NotificationPreference]]:
        """Change switches of several notification types.

        All or nothing. Returns the changed types.

        Needs an active user's bearer token.
        """
        return await self._call(
            "PUT",
            "/api/profile/me/notifications/preferences/bulk",
            {},
            {},
            {},
            body,
        )

    @strictly
    async def update_my_notification_preference(
        self,
        *,
        notification_type_id: str,
        body: UpdateMyNotificationPreferenceBody,
    ) -> Answer[NotificationPreference]:
        """Change the switches of one notification type.

        Needs an active user's bearer token.
        """
        return await self._call(
            "PUT",
            "/api/profile/me/notifications/preferences/{notification_type_id}",
            {"notification_type_id": notification_type_id},
            {},
            {},
            body,
        )

    @strictly
    async def list_inbox(
        self,
        *,
        limit: int | None = None,
        cursor: str | None = None,
        unread_only: bool | None = None,
        app_code: str | None = None,
    ) -> Answer[list[InboxNotification]]:
        """The caller's notifications, newest first.

        Needs an active user's bearer token.
        """
        return await self._call(
            "GET",
            "/api/profile/me/notifications/inbox",
            {},
            {"limit": limit, "cursor": cursor, "unreadOnly": unread_only, "appCode": app_code},
            {},
            None,
        )

    @strictly
    async def count_unread(self) -> Answer[CountUnreadAnswer]:
        """How many of the caller's notifications are unread.

        Needs an active user's bearer token.
        """
        return await self._call(
            "GET",
            "/api/profile/me/notifications/inbox/unread-count",
            {},
            {},
            {},
            None,
        )

    @strictly
    async def mark_read(self, *, id: str) -> Answer[None]:
        """Mark a notification read.

        A notification that was already read stays unchanged.

        Needs an active user's bearer token.
        """
        return await self._call(
            "PATCH",
            "/api/profile/me/notifications/inbox/{id}/read",
            {"id": id},
            {},
            {},
            None,
        )

    @strictly
    async def mark_all_read(
        self,
        *,
        body: MarkAllReadBody | None = None,
    ) -> Answer[MarkAllReadAnswer]:
        """Mark all notifications read.

        Needs an active user's bearer token.
        """
        return await self._call(
            "POST",
            "/api/profile/me/notifications/inbox/read-all",
            {},
            {},
            {},
            body,
        )
