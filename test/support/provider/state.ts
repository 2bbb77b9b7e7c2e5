import { randomInt } from 'node:crypto';
import type { Uploaded } from './multipart.ts';

export const SERVICE_TOKEN = 'service-account-token-canary-7a31';

/** gRPC code to HTTP status, as the provider's gateway maps them. */
const STATUS: Readonly<Record<number, number>> = {
  3: 400,
  5: 404,
  6: 409,
  7: 403,
  8: 429,
  9: 400,
  13: 500,
  14: 503,
  16: 401,
};

/** A refusal in the provider's shape, with an id in its message. */
export class ApiError extends Error {
  readonly code: number;
  constructor(code: number, message: string) {
    super(message);
    this.code = code;
  }
  get status(): number {
    return STATUS[this.code] ?? 500;
  }
  get body(): unknown {
    const [, message, id] = /^(.*) \(([^)]+)\)$/.exec(this.message) ?? [];
    // Only errors of its own have an id; those of its gateway have words alone.
    if (id === undefined) return { code: this.code, message: this.message };
    const details = [{ '@type': 'type.googleapis.com/zitadel.v1.ErrorDetail', id, message }];
    return { code: this.code, message: this.message, details };
  }
}

export interface EmailProviderRow {
  id: string;
  active: boolean;
  description: string;
  endpoint: string;
  signingKey: string;
}

export interface OrgRow {
  id: string;
  name: string;
  domains: Set<string>;
  primaryDomain: string;
  /** Null: the instance's default. */
  label: Record<string, unknown> | null;
  /** What visitors see. */
  shown: Record<string, unknown> | null;
  logo: Uploaded | null;
}

export interface ProjectRow {
  id: string;
  org: string;
  name: string;
}

export interface AppRow {
  id: string;
  project: string;
  name: string;
  clientId: string;
  config: Record<string, unknown>;
}

export interface UserRow {
  id: string;
  email: string;
  profile: { givenName: string; familyName: string; displayName: string };
  /** USER_STATE_ACTIVE without it. */
  state?: string;
  /** The organization; 100 without it. */
  org?: string;
  createdAt?: string;
  changedAt?: string;
  /** Of a service: it has no address and no names. */
  machine?: true;
}

export interface IdpState {
  origin: string;
  emailProviders: EmailProviderRow[];
  orgs: OrgRow[];
  projects: ProjectRow[];
  apps: AppRow[];
  users: UserRow[];
  /** Of event actions. */
  targets: { id: string; name: string; endpoint: string; signingKey: string }[];
  /** The targets of each event. */
  executions: Map<string, string[]>;
  defaultLabel: Record<string, unknown>;
  /** How long a search does not show what was made. */
  searchLagMs: number;
  /** When a row was made; those that a test put here are old. */
  madeAt: WeakMap<object, number>;
  /** Whether a domain must be proved by DNS before it can be primary, and those that were. */
  validateOrgDomains: boolean;
  verified: Set<string>;
  /** Whether endpoints on private addresses are refused, as by default in the field. */
  deniesPrivate: boolean;
  /** False before 4.0: no signing keys for e-mail. */
  signsMails: boolean;
  /** Whether searches show signing keys, as the one in the field does. */
  revealsKeys: boolean;
}

export function newState(): IdpState {
  return {
    origin: '',
    emailProviders: [],
    orgs: [],
    projects: [],
    apps: [],
    users: [],
    targets: [],
    executions: new Map(),
    searchLagMs: 0,
    madeAt: new WeakMap(),
    validateOrgDomains: false,
    verified: new Set(),
    deniesPrivate: false,
    signsMails: true,
    revealsKeys: false,
    defaultLabel: {
      primaryColor: '#5469d4',
      backgroundColor: '#fafafa',
      fontColor: '#000000',
      warnColor: '#cd3d56',
      primaryColorDark: '#2073c4',
      backgroundColorDark: '#111827',
      fontColorDark: '#ffffff',
      warnColorDark: '#ff3b5b',
      themeMode: 'THEME_MODE_AUTO',
      disableWatermark: false,
    },
  };
}

/** Zero values are omitted: '', 0, false, null, empty lists. */
export function compact(value: unknown): unknown {
  if (Array.isArray(value)) return value.map(compact);
  if (typeof value !== 'object' || value === null) return value;
  const kept = Object.entries(value).filter(
    ([, item]) =>
      !(
        item === '' ||
        item === 0 ||
        item === false ||
        item === null ||
        item === undefined ||
        (Array.isArray(item) && item.length === 0)
      ),
  );
  return Object.fromEntries(kept.map(([name, item]) => [name, compact(item)]));
}

/** A number of 64 bits, which JavaScript's cannot hold. */
export function newId(): string {
  return `28518129${randomInt(1_000_000_000, 9_999_999_999)}`;
}
