import type { InferKyselyDB } from '@mikro-orm/sql';
import { AppAdmin } from './entities/app-admin.ts';
import { Application } from './entities/application.ts';
import { ApplicationLanguage } from './entities/application-language.ts';
import { Audit } from './entities/audit.ts';
import { Entity } from './entities/entity.ts';
import { Language } from './entities/language.ts';
import { Permission } from './entities/permission.ts';
import { Person } from './entities/person.ts';
import { PolicyChange } from './entities/policy-change.ts';
import { ResourceOverride } from './entities/resource-override.ts';
import { Role } from './entities/role.ts';
import { RolePermission } from './entities/role-permission.ts';
import { Setting } from './entities/setting.ts';
import { Superadmin } from './entities/superadmin.ts';
import { UserRole } from './entities/user-role.ts';

/** Every table. The migrations make them; a test compares the two. */
export const entities = [
  Person,
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
];

/**
 * The tables as Kysely sees them, by the names of the database (`person.registered_at`). bigint is a number (the drivers
 * refuse what is above 2^53), timestamptz a Date, jsonb what JSON says; JSON is written as text: `JSON.stringify(value)`.
 */
export type Schema = InferKyselyDB<(typeof entities)[number]>;
