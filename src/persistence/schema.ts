import type { InferKyselyDB } from '@mikro-orm/sql';
import { AdministratorSendRequest } from './entities/administrator-send-request.ts';
import { AppAdmin } from './entities/app-admin.ts';
import { AppEvent } from './entities/app-event.ts';
import { AppPreference } from './entities/app-preference.ts';
import { Application } from './entities/application.ts';
import { ApplicationLanguage } from './entities/application-language.ts';
import { Audit } from './entities/audit.ts';
import { AuthMail } from './entities/auth-mail.ts';
import { Brand } from './entities/brand.ts';
import { Delivery } from './entities/delivery.ts';
import { Entity } from './entities/entity.ts';
import { Language } from './entities/language.ts';
import { Notification } from './entities/notification.ts';
import { NotificationPreference } from './entities/notification-preference.ts';
import { NotificationType } from './entities/notification-type.ts';
import { Organization } from './entities/organization.ts';
import { Permission } from './entities/permission.ts';
import { Person } from './entities/person.ts';
import { PersonSearch } from './entities/person-search.ts';
import { PolicyChange } from './entities/policy-change.ts';
import { Profile } from './entities/profile.ts';
import { PushSubscription } from './entities/push-subscription.ts';
import { RegistrationLocale } from './entities/registration-locale.ts';
import { ResourceOverride } from './entities/resource-override.ts';
import { Role } from './entities/role.ts';
import { RolePermission } from './entities/role-permission.ts';
import { SeenEvent } from './entities/seen-event.ts';
import { SendRequest } from './entities/send-request.ts';
import { Setting } from './entities/setting.ts';
import { Superadmin } from './entities/superadmin.ts';
import { Template } from './entities/template.ts';
import { UserRole } from './entities/user-role.ts';

/** Every table. The migrations make them; a test compares the two. */
export const entities = [
  Person,
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
  PolicyChange,
  Setting,
  Audit,
  Brand,
  Profile,
  AppPreference,
  AppEvent,
  SeenEvent,
  RegistrationLocale,
  Organization,
  NotificationType,
  Template,
  NotificationPreference,
  SendRequest,
  AdministratorSendRequest,
  Notification,
  Delivery,
  PushSubscription,
  AuthMail,
];

/**
 * The tables as Kysely sees them, by the names of the database (`person.registered_at`). bigint is a number (the drivers
 * refuse what is above 2^53), timestamptz a Date, jsonb what JSON says; JSON is written as text: `JSON.stringify(value)`.
 */
export type Schema = InferKyselyDB<(typeof entities)[number]>;
