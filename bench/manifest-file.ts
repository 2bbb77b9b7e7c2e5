/** A data set of one application as the YAML that `POST /api/manifests/apply` takes. */
import { stringify } from 'yaml';
import type { BenchApplication, Dataset, Level } from './dataset.ts';

const LEVELS = ['denied', 'allowed', 'view', 'edit'] as const;

function levelOf(level: Level): string {
  return LEVELS[level];
}

export function manifestYaml(dataset: Dataset): string {
  const [app] = dataset.applications.values();
  if (!app) throw new Error('a manifest describes one application');
  return stringify(manifestOf(app), { aliasDuplicateObjects: false });
}

function manifestOf(app: BenchApplication): object {
  const tiered = new Set(app.permissions.filter((p) => p.tiered).map((p) => p.code));
  return {
    application: { code: app.code, name: app.name },
    entities: app.entities.map((code) => ({ code, name: code })),
    permissions: app.permissions.map((p) => ({
      code: p.code,
      type: p.tiered ? 'tiered' : 'binary',
      global: p.global,
      ...(p.groupName === null ? {} : { groupName: p.groupName }),
    })),
    roles: app.roles.map((role) => ({
      code: role.code,
      permissions: Object.fromEntries([...role.levels].map(([code, level]) => [code, levelOf(level)])),
    })),
    assignments: [...app.assignments].map(([email, roles]) => ({ email, roles: [...roles] })),
    overrides: app.overrides.map((o) => ({
      email: o.email,
      resourceType: o.resourceType,
      resourceId: o.resourceId,
      permission: o.permission,
      granted: o.level > 0,
      ...(o.level > 0 && tiered.has(o.permission) ? { accessLevel: levelOf(o.level) } : {}),
    })),
  };
}
