import type { InferKyselyDB } from '@mikro-orm/sql';
import type { Selectable } from 'kysely';
import { AdministratorSendRequest } from './administrator-send-request.ts';
import { AppAdmin } from './app-admin.ts';
import { AppEvent } from './app-event.ts';
import { AppPreference } from './app-preference.ts';
import { Application } from './application.ts';
import { ApplicationLanguage } from './application-language.ts';
import { Audit } from './audit.ts';
import { AuthMail } from './auth-mail.ts';
import { Brand } from './brand.ts';
import { BrandRefresh } from './brand-refresh.ts';
import { Delivery } from './delivery.ts';
import { Entity } from './entity.ts';
import { Erasure } from './erasure.ts';
import { GrantMoment } from './grant-moment.ts';
import { Image } from './image.ts';
import { InternalKeyUse } from './internal-key-use.ts';
import { Language } from './language.ts';
import { Notification } from './notification.ts';
import { NotificationPreference } from './notification-preference.ts';
import { NotificationType } from './notification-type.ts';
import { Organization } from './organization.ts';
import { Permission } from './permission.ts';
import { Person } from './person.ts';
import { PersonAccount } from './person-account.ts';
import { PersonSearch } from './person-search.ts';
import { PolicyChange } from './policy-change.ts';
import { Profile } from './profile.ts';
import { ProviderEvent } from './provider-event.ts';
import { ProviderUser } from './provider-user.ts';
import { PushSubscription } from './push-subscription.ts';
import { RefusedMail } from './refused-mail.ts';
import { RefusedRow } from './refused-row.ts';
import { RegistrationLocale } from './registration-locale.ts';
import { ResourceOverride } from './resource-override.ts';
import { Role } from './role.ts';
import { RolePermission } from './role-permission.ts';
import { SeenEvent } from './seen-event.ts';
import { SendRequest } from './send-request.ts';
import { Setting } from './setting.ts';
import { Superadmin } from './superadmin.ts';
import { Template } from './template.ts';
import { TokenOrganization } from './token-organization.ts';
import { UnresolvedEvent } from './unresolved-event.ts';
import { UserRole } from './user-role.ts';

/** Every table. The migrations create them; a test compares the two. */
export const entities = [
  Person,
  PersonAccount,
  PersonSearch,
  Superadmin,
  Language,
  Application,
  ApplicationLanguage,
  Entity,
  Permission,
  Role,
  RolePermission,
  UserRole,
  AppAdmin,
  ResourceOverride,
  GrantMoment,
  PolicyChange,
  Setting,
  Audit,
  Brand,
  BrandRefresh,
  Profile,
  AppPreference,
  AppEvent,
  SeenEvent,
  RegistrationLocale,
  Organization,
  TokenOrganization,
  NotificationType,
  Template,
  NotificationPreference,
  SendRequest,
  AdministratorSendRequest,
  Notification,
  Delivery,
  PushSubscription,
  RefusedRow,
  AuthMail,
  ProviderEvent,
  RefusedMail,
  ProviderUser,
  UnresolvedEvent,
  Image,
  InternalKeyUse,
  Erasure,
];

/**
 * The tables as statements see them, by the names of the entities' properties (`person.registeredAt`). bigint is a number (the
 * drivers refuse values above 2^53), timestamptz a Date, jsonb the JSON value; JSON is written as text: `JSON.stringify(value)`.
 */
export type Schema = InferKyselyDB<(typeof entities)[number], { columnNamingStrategy: 'property' }>;

/** A row as it is read. */
export type Row<T extends keyof Schema> = Selectable<Schema[T]>;
