import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, test } from '@jest/globals';
import { Double } from '../cli/double.ts';
import { usher } from '../cli/harness.ts';

const folder = mkdtempSync(join(tmpdir(), 'usher-policy-tests-'));
afterAll(() => rmSync(folder, { recursive: true, force: true }));

const MANIFEST = `
application: { code: billing, name: Billing }
entities: [{ code: invoice, name: Invoice }]
permissions:
  - { code: invoice.read, type: tiered }
  - { code: invoice.approve, type: binary }
  - { code: invoice.audit, type: tiered, global: true }
roles:
  - { code: reader, permissions: { invoice.read: view, invoice.audit: view } }
  - { code: boss, permissions: { invoice.approve: allowed } }
admins: [nora@example.com]
assignments: [{ email: ben@example.com, roles: [reader] }]
overrides:
  - { email: ben@example.com, resourceType: invoice, resourceId: 'a:1', permission: invoice.read, granted: true, accessLevel: edit }
  - { email: ben@example.com, resourceType: invoice, resourceId: '2', permission: invoice.read, granted: false }
  - { email: ben@example.com, resourceType: invoice, resourceId: '3', permission: invoice.audit, granted: false }
`;

function write(name: string, text: string): string {
  writeFileSync(join(folder, name), text);
  return join(folder, name);
}

write('billing.yaml', MANIFEST);

const cases = (...all: string[]): string =>
  `manifest: billing.yaml\ntests:\n${all.map((one) => `  - ${one}`).join('\n')}\n`;

async function run(...argv: string[]) {
  return await usher(['test', ...argv], { env: {} });
}

const PASSING = [
  '{ email: ben@example.com, permission: invoice.read, expect: view, via: role }',
  '{ email: BEN@example.com, permission: invoice.read, expect: allowed }',
  '{ email: ben@example.com, permission: invoice.read, level: edit, expect: denied }',
  "{ email: ben@example.com, permission: invoice.read, resource: 'invoice:a:1', level: edit, expect: allowed, via: override }",
  '{ email: ben@example.com, permission: invoice.read, resource: invoice:2, expect: denied, via: override }',
  '{ email: ben@example.com, permission: invoice.audit, resource: invoice:3, expect: view, via: role }',
  '{ email: nora@example.com, permission: invoice.approve, expect: allowed, via: app_admin }',
  '{ email: stranger@example.com, permission: invoice.read, expect: denied, via: none }',
  '{ email: not an address, permission: invoice.read, expect: denied }',
];

describe('usher test', () => {
  test('usher test passes correct cases by level and by rule', async () => {
    const result = await run(write('good.yaml', cases(...PASSING)));
    expect(result).toMatchObject({ code: 0, stderr: '', stdout: `${PASSING.length} passed, 0 failed\n` });
  });

  test('usher test fails with exit code 1 and prints the deciding rule', async () => {
    const file = write(
      'bad.yaml',
      cases('{ name: Ben edits, email: ben@example.com, permission: invoice.read, expect: edit }'),
    );
    const { code, stdout } = await run(file);
    expect(code).toBe(1);
    expect(stdout).toContain('Ben edits');
    expect(stdout).toContain('expected edit, got allowed (level view, by role)');
    expect(stdout).toContain('→ rule 5 roles: applies, gives view');
    expect(stdout).toContain('reader (view)');
    const json = await run(file, '--json');
    expect([json.code, JSON.parse(json.stdout)]).toMatchObject([
      1,
      { passed: 0, failed: 1, failures: [{ name: 'Ben edits' }] },
    ]);
  });

  test.each([
    ['a level of another rule', '{ email: ben@example.com, permission: invoice.read, expect: view, via: override }'],
    ['a permission that does not exist', '{ email: ben@example.com, permission: invoice.none, expect: allowed }'],
    [
      'half a resource',
      "{ email: ben@example.com, permission: invoice.read, resource: 'invoice:x y', expect: denied, via: override }",
    ],
  ])('usher test fails for %s', async (_, one) => {
    expect((await run(write('one.yaml', cases(one)))).code).toBe(1);
  });

  test.each([
    ['permission', '{ email: ben@example.com, permission: invoice.raed, expect: denied }', 'invoice.read?'],
    [
      'resource type',
      "{ email: ben@example.com, permission: invoice.read, resource: 'invioce:7', expect: view }",
      'invoice?',
    ],
  ])('usher test fails for a misspelled %s of a strict application, as the service does', async (_, one, hint) => {
    write('strict.yaml', MANIFEST.replace('name: Billing', 'name: Billing, strictCodes: true'));
    const { code, stdout } = await run(write('misspelled.yaml', cases(one).replace('billing.yaml', 'strict.yaml')));
    expect([code, stdout]).toEqual([1, expect.stringContaining(`did you mean ${hint}`)]);
  });

  test.each([
    ['a file that is not there', 'nowhere.yaml', null, 'does not exist'],
    ['a manifest that is not there', 'lost.yaml', 'manifest: nowhere.yaml\ntests: []\n', 'does not exist'],
    ['text that is not YAML', 'broken.yaml', 'manifest: [', 'broken.yaml:1:'],
    ['an unknown field', 'field.yaml', cases('{ email: a@example.com, permission: x, expects: view }'), 'expects'],
    [
      'an unknown expectation',
      'value.yaml',
      cases('{ email: a@example.com, permission: x, expect: maybe }'),
      'tests.0.expect',
    ],
    [
      'a resource without an id',
      'resource.yaml',
      cases('{ email: a@example.com, permission: x, resource: doc, expect: denied }'),
      'TYPE:ID',
    ],
    [
      'a level beside an exact one',
      'level.yaml',
      cases('{ email: a@example.com, permission: x, level: view, expect: edit }'),
      'tests.0.level',
    ],
    ['tests that are not a list', 'list.yaml', 'manifest: billing.yaml\ntests: many\n', 'must be a list'],
    ['neither a manifest nor the name of one', 'neither.yaml', 'tests: []\n', 'manifest'],
  ])('usher test exits with 2 for %s', async (_, name, text, said) => {
    const file = text === null ? join(folder, name) : write(name, text);
    const { code, stderr } = await run(write('good.yaml', cases(...PASSING)), file);
    expect([code, stderr]).toEqual([2, expect.stringContaining(said)]);
  });

  test.each([
    [
      'a role that it does not define',
      'assignments: [{ email: a@example.com, roles: [nobody] }]',
      'assignments.0.roles.0',
    ],
    [
      'a grant of a permission that it does not define',
      'roles: [{ code: clerk, permissions: { some: view } }]',
      'roles.0',
    ],
    ['a level that its permission does not have', 'roles: [{ code: clerk, permissions: { all: edit } }]', 'roles.0'],
    [
      'a template of an unknown type',
      'templates: [{ type: nothing, key: one, locale: en, subject: x, html: y }]',
      'templates.0.type',
    ],
  ])('usher test exits with 2 for a manifest that apply refuses: %s', async (_, section, path) => {
    const text = `application: { code: shop, name: Shop }\nentities: [{ code: invoice, name: Invoice }]\npermissions: [{ code: all, type: binary, global: true }]\n${section}\ntests: [{ email: a@example.com, permission: all, expect: denied }]\n`;
    const { code, stderr } = await run(write('refused.yaml', text));
    expect([code, stderr]).toEqual([2, expect.stringContaining(path)]);
  });

  test('usher test runs the tests in a manifest', async () => {
    const file = write('own.yaml', `${MANIFEST}tests:\n  - ${PASSING[0]}\n`);
    expect(await run(file)).toMatchObject({ code: 0, stdout: '1 passed, 0 failed\n' });
  });

  test('usher test --coverage prints the parts without a case', async () => {
    const file = write('some.yaml', cases(PASSING[0] as string, PASSING[4] as string));
    const { stdout } = await run(file, '--coverage');
    expect(stdout).toContain('permissions: invoice.approve, invoice.audit');
    expect(stdout).toContain('roles: boss');
    expect(stdout).toContain(
      'overrides: ben@example.com invoice.read invoice:a:1, ben@example.com invoice.audit invoice:3',
    );
    expect(stdout).not.toContain('invoice:2');
  });

  test('usher test writes JUnit XML for any text', async () => {
    const named = { name: `<&"'> ]]>`, email: 'ben@example.com', permission: 'x', expect: 'allowed' };
    const file = write('xml.yaml', cases(PASSING[0] as string, JSON.stringify(named)));
    const report = join(folder, 'report.xml');
    expect((await run(file, '--junit', report)).code).toBe(1);
    const xml = readFileSync(report, 'utf8');
    expect(xml).toContain('tests="2" failures="1"');
    expect(xml).toContain('name="&#60;&#38;&#34;');
    expect(xml.match(/<testcase /g)).toHaveLength(2);
  });

  test('usher test names a report that cannot be written', async () => {
    const report = join(folder, 'nowhere/report.xml');
    const { code, stderr } = await run(write('good.yaml', cases(...PASSING)), '--junit', report);
    expect([code, stderr]).toEqual([1, `${report} cannot be written (ENOENT).\n`]);
  });

  test('usher test runs 10,000 cases of a large manifest', async () => {
    const permissions = Array.from({ length: 500 }, (_, i) => ({ code: `p${i}.read`, type: 'tiered' }));
    const roles = Array.from({ length: 50 }, (_, i) => ({
      code: `r${i}`,
      permissions: Object.fromEntries(permissions.slice(i * 10, i * 10 + 10).map(({ code }) => [code, 'view'])),
    }));
    const assignments = Array.from({ length: 1000 }, (_, i) => ({ email: `u${i}@example.com`, roles: [`r${i % 50}`] }));
    const tests = Array.from({ length: 10_000 }, (_, i) => ({
      email: `u${i % 1000}@example.com`,
      permission: `p${i % 500}.read`,
      expect: Math.floor((i % 500) / 10) === i % 50 ? 'view' : 'denied',
    }));
    write(
      'large.json',
      JSON.stringify({ application: { code: 'large', name: 'Large' }, permissions, roles, assignments, tests }),
    );
    expect(await run(join(folder, 'large.json'))).toMatchObject({ code: 0, stdout: '10000 passed, 0 failed\n' });
  });
});

describe('usher test --url', () => {
  const double = new Double();
  beforeAll(() => double.start());
  afterAll(() => double.stop());

  test('usher test --context asks the service of that context, and never only the manifest', async () => {
    const file = write('context.yaml', cases(PASSING[0] as string));
    const { code, stderr } = await usher(['test', file, '--context', 'nowhere'], { env: { HOME: folder } });
    expect([code, stderr]).toEqual([1, expect.stringContaining('nowhere')]);
  });

  test('usher test --url fails the case that the service refuses, and asks the others', async () => {
    double.answer = ({ body }) => {
      const { checks } = JSON.parse(body) as { checks: { permission: string }[] };
      const bad = checks.findIndex(({ permission }) => permission === 'typo');
      if (bad === -1) {
        const results = checks.map(() => ({ allowed: true, accessLevel: 'view', source: 'role' }));
        return { status: 200, body: { success: true, data: { results } } };
      }
      const path = `checks.${bad}.permission`;
      const message = `${path}: billing defines no permission typo.`;
      const details = { code: 'UNKNOWN_CODE', path, known: null };
      return { status: 400, body: { success: false, code: 'BAD_REQUEST', message, details } };
    };
    const typo = '{ name: Misspelled, email: ben@example.com, permission: typo, expect: denied }';
    const good = PASSING[0] as string;
    const file = write('refused.yaml', cases(typo, good, good, typo, good));
    const { code, stdout } = await usher(['test', file, '--url', double.url, '--key', 'k'.repeat(24)], { env: {} });
    expect([code, stdout]).toEqual([1, expect.stringContaining('3 passed, 2 failed')]);
    expect(stdout).toContain('Misspelled\n  permission: billing defines no permission typo.');
    double.received.length = 0;
  });

  test('usher test --url calls the service in batches, with the level and the resource of each case', async () => {
    double.answer = ({ body }) => {
      const { checks } = JSON.parse(body) as { checks: { permission: string }[] };
      const results = checks.map(({ permission }) => ({
        allowed: permission !== 'x',
        accessLevel: 'view',
        source: 'role',
      }));
      return { status: 200, body: { success: true, data: { results } } };
    };
    const file = write(
      'asked.yaml',
      cases(...Array.from({ length: 1001 }, () => PASSING[2] as string).map((one) => one.replace('denied', 'allowed'))),
    );
    const { code, stdout } = await usher(['test', file, '--url', double.url, '--key', 'k'.repeat(24)], { env: {} });
    expect([code, stdout]).toEqual([0, '1001 passed, 0 failed\n']);
    expect(double.received.map(({ url }) => url)).toEqual(['/api/check/batch', '/api/check/batch']);
  });
});
