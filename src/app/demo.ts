/** The demonstration of a development start: an application, and two decisions in it with their reasons. */

import { readFile } from 'node:fs/promises';
import { LEVEL_NAMES } from '../base/level-names.ts';
import { createLogger } from '../base/telemetry.ts';
import type { PlanView } from '../catalog/manifest/plan.ts';
import { isRegistryEmpty } from '../catalog/seed.ts';
import type { Config } from '../config/config.ts';
import { type Decision, type Question, Source } from '../engine/types.ts';
import { UnknownCode } from '../engine/unknown-codes.ts';
import { getSetting, putSetting } from '../persistence/settings.ts';
import { type App, buildApp } from './app.ts';

const MANIFEST = new URL('../../examples/demo.yaml', import.meta.url);
/** Stored with the first decision, so that a registry emptied on purpose stays empty. */
const DECIDED = 'demo.applied';

/** Two questions about examples/demo.yaml: a role allows, an override for one record denies. */
const QUESTIONS: readonly Question[] = [
  { email: 'clara@example.com', app: 'atelier', permission: 'project.access', resourceType: '', resourceId: '' },
  {
    email: 'clara@example.com',
    app: 'atelier',
    permission: 'project.access',
    resourceType: 'project',
    resourceId: '1042',
  },
];

/**
 * Applies examples/demo.yaml on a development start with an empty embedded database. Returns whether this database contains the
 * demonstration: PostgreSQL contains it after `usher demo`.
 */
export async function applyDemo({ config, database, manifests }: App): Promise<boolean> {
  if (config.production) return false;
  const { decided, empty } = await database.read(async (tx) => ({
    decided: await getSetting(tx, DECIDED),
    empty: await isRegistryEmpty(tx),
  }));
  if (decided !== undefined || database.kind !== 'pglite') return decided === true;
  if (empty) await manifests.apply(await readFile(MANIFEST, 'utf8'), { actor: 'system' });
  await keepDecision(database, empty);
  return empty;
}

/**
 * `usher demo`: applies examples/demo.yaml to the configured database, beside its other content; a second time changes nothing. A
 * service running on it follows by itself. Rejects with Refused when another process holds the embedded database.
 */
export async function demonstrate({ config }: { config: Config }): Promise<PlanView> {
  // A complete service without listeners: no role opens one.
  const app = await buildApp({ ...config, roles: [], ops: null }, { log: createLogger('silent') });
  try {
    let plan: PlanView | undefined;
    await app.start(async () => {
      ({ plan } = await app.manifests.apply(await readFile(MANIFEST, 'utf8'), { actor: 'cli' }));
      await keepDecision(app.database, true);
    });
    if (plan === undefined) throw new Error('the demonstration was not applied');
    return plan;
  } finally {
    await app.close();
  }
}

async function keepDecision(database: App['database'], holds: boolean): Promise<void> {
  await database.change(async (tx) => {
    await putSetting(tx, DECIDED, holds);
    return { result: null, scopes: [] };
  });
}

/**
 * The decisions to print, a line each; empty when the demonstration was changed. The application refuses questions about
 * codes that it no longer defines, and a start must not fail for that.
 */
export async function demoDecisions({ engine }: Pick<App, 'engine'>): Promise<string[]> {
  const lines: string[] = [];
  for (const question of QUESTIONS) {
    const { member } = await engine.member(question.app, question.email);
    if (member.appId === null) return [];
    const decision = await decide(engine, question);
    if (decision === null) return [];
    lines.push(`${inWords(question)}\n      ${decision.granted ? 'allowed' : 'denied'}: ${reason(decision, question)}`);
  }
  return lines;
}

/** Null for a question that names codes that the application does not define. */
async function decide(engine: App['engine'], question: Question): Promise<Decision | null> {
  try {
    return (await engine.check(question)).decision;
  } catch (error) {
    if (error instanceof UnknownCode) return null;
    throw error;
  }
}

function inWords({ email, permission, resourceType, resourceId }: Question): string {
  return `may ${email} ${permission}${resourceType === '' ? '' : ` of ${resourceType} ${resourceId}`}?`;
}

function reason({ granted, level, source }: Decision, { resourceType }: Question): string {
  const held = LEVEL_NAMES[level];
  switch (source) {
    case Source.SUPERADMIN:
      return 'a SuperAdmin is allowed everything';
    case Source.APP_ADMIN:
      return 'an application admin is allowed everything in the application';
    case Source.OVERRIDE:
      return granted
        ? `an override for this ${resourceType} grants ${held}`
        : `an override for this ${resourceType} denies it`;
    case Source.ROLE:
      return `a role grants ${held}`;
    default:
      return 'no rule grants it';
  }
}
