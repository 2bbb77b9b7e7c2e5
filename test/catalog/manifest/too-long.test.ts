import { describe, expect, test } from '@jest/globals';
import { examine } from '../../../src/catalog/manifest/examine.ts';
import { parseManifest } from '../../../src/catalog/manifest/parse.ts';

const application = { code: 'shop', name: 'Shop' };
const admins = (count: number) => Array.from({ length: count }, (_, n) => `a${n}@example.com`);
const assignments = (count: number) => admins(count).map((email) => ({ email, roles: ['clerk'] }));
const issuesOf = (manifest: object) =>
  examine(JSON.stringify(manifest)).issues.map(({ path, message }) => `${path}: ${message}`);

describe('manifests of too many records', () => {
  test('an application has ten thousand administrators, and the path says where there are more', () => {
    expect(issuesOf({ application, admins: admins(10_000) })).toEqual([]);
    expect(issuesOf({ application, admins: admins(10_001) })).toEqual([
      'admins: has 10001 addresses; an application has at most 10000 administrators',
    ]);
  });

  test('a manifest has 200,000 records in all its sections', async () => {
    const manifest = { application, admins: admins(10_000), assignments: assignments(190_000) };
    const { manifest: read, issues } = await parseManifest(JSON.stringify(manifest));
    expect([read?.assignments?.length, issues]).toEqual([190_000, []]);
    manifest.assignments.push({ email: 'one@example.com', roles: ['clerk'] });
    const refused = await parseManifest(JSON.stringify(manifest));
    expect([refused.manifest, refused.issues.map(({ path }) => path)]).toEqual([null, ['assignments']]);
  }, 60_000);

  test('nine hundred thousand addresses are refused without holding the loop up', async () => {
    const text = JSON.stringify({ application, admins: admins(900_000) });
    let longest = 0;
    let last = performance.now();
    const timer = setInterval(() => {
      longest = Math.max(longest, performance.now() - last);
      last = performance.now();
    }, 1);
    const { manifest, issues } = await parseManifest(text);
    clearInterval(timer);
    expect([manifest, issues.map(({ path }) => path)]).toEqual([null, ['admins']]);
    // Seven to fourteen seconds before; here a machine under load has some tenths.
    expect(longest).toBeLessThan(3000);
  }, 60_000);
});
