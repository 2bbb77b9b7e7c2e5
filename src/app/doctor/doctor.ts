/** `usher doctor`: looks at everything that a service depends on, and changes nothing but refresh tokens that are used up (docs/reference/command-line.md#doctor). */

import { systemClock as clock } from '../../base/clock.ts';
import type { Config } from '../../config/config.ts';
import { createOutbound } from '../../outbound/outbound.ts';
import { checkDatabase } from './database.ts';
import { type Finding, Findings } from './finding.ts';
import { checkCertificates, checkFiles, checkNode, checkPorts, type Files } from './machine.ts';
import { checkMail } from './mail.ts';
import { checkProvider, checkPush } from './network.ts';
import { checkOrganizations } from './organizations.ts';
import { checkOutbound } from './proxy.ts';
import { checkPublicUrl } from './public-url.ts';

/** The longest that one check may take. */
const LIMIT_MS = 15_000;

export interface DoctorOptions extends Files {
  readonly config: Config;
  /** Variables that other programs read. */
  readonly env: Readonly<Record<string, string | undefined>>;
  /** For tests. */
  readonly limitMs?: number;
}

/** Every check runs at once; its findings stand together, in this order. Never rejects. */
export async function examine({ config, env, limitMs = LIMIT_MS, ...files }: DoctorOptions): Promise<Finding[]> {
  const outbound = createOutbound({ clock, proxy: config.outbound });
  const isEdge = config.upstream.address !== null;
  const isDevelopment = !config.production;
  const checks: readonly [string, boolean, (to: Findings) => void | Promise<void>][] = [
    ['node', true, (to) => checkNode(to)],
    ['database', !isEdge, (to) => checkDatabase(config, to)],
    ['outbound', !isEdge, (to) => checkOutbound(config, { outbound, env }, to)],
    ['publicUrl', !isEdge, (to) => checkPublicUrl(config, outbound, to)],
    ['provider', !isEdge, (to) => checkProvider(config, { outbound, isDevelopment }, to)],
    ['accounts', !isEdge, (to) => checkOrganizations(config, to)],
    ['mail', !isEdge, (to) => checkMail(config, { outbound }, to)],
    ['push', !isEdge, (to) => checkPush(config, outbound, to)],
    ['files', true, (to) => checkFiles(config, files, to)],
    ['certificates', true, (to) => checkCertificates(config, to)],
    ['listeners', true, (to) => checkPorts(config, to)],
  ];
  try {
    const due = checks.filter(([, applies]) => applies);
    const found = await Promise.all(due.map(([name, , check]) => within(limitMs, new Findings(name), check)));
    return found.flat();
  } finally {
    await outbound.close();
  }
}

async function within(
  limitMs: number,
  to: Findings,
  check: (to: Findings) => void | Promise<void>,
): Promise<readonly Finding[]> {
  let timer: NodeJS.Timeout | undefined;
  const late = new Promise<'late'>((resolve) => {
    timer = setTimeout(() => resolve('late'), limitMs);
  });
  try {
    const outcome = await Promise.race([Promise.resolve(check(to)), late]);
    if (outcome === 'late')
      to.fail(`no answer within ${limitMs / 1000} s`, 'Check the network between here and there.');
  } catch (error) {
    to.fail(`the check failed (${error instanceof Error ? error.name : 'unknown'})`, 'Report this: it is a defect.');
  } finally {
    clearTimeout(timer);
  }
  return [...to.list];
}
