import { afterAll, beforeAll, describe, expect, test } from '@jest/globals';
import type { OracleQuestion } from '../oracle/oracle.ts';
import { manifestOf, yamlOf } from '../support/exported.ts';
import { useRegistry } from '../support/registry.ts';
import { type Door, openDoors, pathIn, Refused, type Said } from './doors.ts';

const catalog = (code: string, strictCodes: boolean): string => `
application: {code: ${code}, name: ${code}, strictCodes: ${strictCodes}}
entities: [{code: book, name: Book}]
permissions: [{code: book.read, type: binary}, {code: book.edit, type: tiered}]
roles: [{code: reader, permissions: {book.read: allowed, book.edit: view}}]
admins: [boss@example.com]
assignments: [{email: ada@example.com, roles: [reader]}, {email: gone@example.com, roles: [reader]}]
`;
const PEOPLE = ['ada', 'boss', 'admin', 'gone', 'nobody'].map((name) => `${name}@example.com`);
const ADA = 'ada@example.com';
const GLOBAL = { resourceType: '', resourceId: '' };
const BOOK = { resourceType: 'book', resourceId: '1' };

type Outcome = { said: Said[] } | { path: unknown; known: unknown };

async function outcome(door: Door, question: Partial<OracleQuestion>, permissions: string[]): Promise<Outcome> {
  const asked = { email: ADA, app: 'strict', permission: '', ...GLOBAL, ...question };
  try {
    const { said } = await door.ask(asked, permissions, null);
    return { said };
  } catch (error) {
    if (!(error instanceof Refused)) throw error;
    return { path: error.path, known: error.known };
  }
}

const allowed = (outcome: Outcome): Record<string, boolean> => {
  if (!('said' in outcome)) throw new Error(`refused: ${String(outcome.path)}`);
  return Object.fromEntries(outcome.said.map((said) => [said.permission, said.allowed]));
};

describe('codes that an application does not define', () => {
  const registry = useRegistry('postgresql', [catalog('strict', true), catalog('lenient', false)]);
  let doors: Door[];
  let close: () => void;

  beforeAll(async () => {
    ({ doors, close } = await openDoors(registry.usher, PEOPLE));
    const { root } = registry;
    await root.post('/api/users', { email: 'gone@example.com' });
    for (const name of ['gone', 'admin', 'boss']) await registry.as(name).get('/api/profile/me');
    expect((await root.put('/api/users/gone@example.com/active', { active: false })).status).toBe(200);
  });
  afterAll(() => close());

  const refusing = () => doors.filter(({ lenient }) => lenient !== true);
  const naming = () => refusing().filter(({ kind }) => kind !== 'effective');

  /** The series of an application as a scrape has them. */
  async function counted(app: string): Promise<Record<string, number>> {
    const response = await fetch(`${registry.usher.rest}/metrics`);
    const found: Record<string, number> = {};
    for (const [, labels = '', value] of (await response.text()).matchAll(
      /usher_unknown_codes_total\{([^}]*)\} (\d+)/g,
    )) {
      const kind = /kind="(\w+)"/.exec(labels)?.[1] ?? '';
      if (labels.includes(`app="${app}"`)) found[kind] = Number(value);
    }
    return found;
  }

  test.each(PEOPLE)(
    'a strict application refuses an unknown permission on every transport when the question is about %s',
    async (email) => {
      for (const door of naming()) {
        expect([door.name, await outcome(door, { email }, ['bok.read'])]).toEqual([
          door.name,
          { path: pathIn(door, 'permission'), known: 'book.read' },
        ]);
        expect(await outcome(door, { email }, ['reports.delete'])).toMatchObject({ known: null });
      }
    },
  );

  test.each(PEOPLE)(
    'a strict application refuses an unknown resource type on every transport when the question is about %s',
    async (email) => {
      for (const door of refusing()) {
        const asked = { email, resourceType: 'boook', resourceId: '1' };
        expect([door.name, await outcome(door, asked, ['book.read'])]).toEqual([
          door.name,
          { path: pathIn(door, 'type'), known: 'book' },
        ]);
      }
    },
  );

  test("an administrator's question about a strict application refuses an unknown resource type", async () => {
    const asked = { email: ADA, resourceType: 'boook', resourceId: '1' };
    const strict = await registry.root.post('/api/applications/strict/effective', asked);
    expect([strict.status, strict.body.details]).toEqual([
      400,
      { code: 'UNKNOWN_CODE', path: 'resourceType', known: 'book' },
    ]);
    const lenient = await registry.root.post('/api/applications/lenient/effective', asked);
    expect(lenient.body.data.map(({ code }: { code: string }) => code)).toEqual(['book.edit', 'book.read']);
  });

  test('Explain reports unknown codes, which every other question refuses', async () => {
    for (const door of doors.filter(({ lenient }) => lenient === true)) {
      expect(allowed(await outcome(door, {}, ['bok.read']))).toEqual({ 'bok.read': false });
      const type = { resourceType: 'boook', resourceId: '1' };
      expect(allowed(await outcome(door, type, ['book.read']))).toEqual({ 'book.read': true });
    }
  });

  test('a refusal has the index of the code in the request', async () => {
    for (const door of doors.filter(({ kind }) => kind === 'bulk' || kind === 'batch')) {
      const permissions = ['book.read', 'book.read', 'book::read', 'book.edti', 'bok.read'];
      expect([door.name, await outcome(door, {}, permissions)]).toEqual([
        door.name,
        { path: pathIn(door, 'permission', 3), known: 'book.edit' },
      ]);
    }
  });

  test('a strict application answers questions about defined codes', async () => {
    for (const door of doors) {
      const held = { 'book.read': true, 'book.edit': true };
      const expected = door.kind === 'one' ? { 'book.read': true } : held;
      expect([door.name, allowed(await outcome(door, {}, Object.keys(held)))]).toEqual([door.name, expected]);
      expect(allowed(await outcome(door, BOOK, Object.keys(held)))).toEqual(expected);
    }
  });

  test('malformed codes and addresses, and unknown applications, stay denied', async () => {
    const denied: [Partial<OracleQuestion>, string][] = [
      [{}, 'book::read'],
      [{ resourceType: 'Book', resourceId: '1' }, 'bok.read'],
      [{ app: 'nowhere' }, 'bok.read'],
    ];
    for (const door of naming()) {
      for (const [question, permission] of denied) {
        expect(allowed(await outcome(door, question, [permission]))).toEqual({ [permission]: false });
      }
      if (!door.userScoped && !door.name.endsWith('by token'))
        expect(allowed(await outcome(door, { email: 'ada' }, ['bok.read']))).toEqual({ 'bok.read': false });
    }
  });

  test('an application that is not strict answers, and counts unknown codes', async () => {
    const before = await counted('lenient');
    const [rest] = naming().filter(({ name }) => name === 'REST check') as [Door];
    for (const code of ['bok.reed', 'bok.reed', 'bok.reed', 'book.read']) {
      expect(allowed(await outcome(rest, { app: 'lenient' }, [code]))).toEqual({ [code]: code === 'book.read' });
    }
    const asked = { app: 'lenient', resourceType: 'boook', resourceId: '1' };
    expect(allowed(await outcome(rest, asked, ['book.read']))).toEqual({ 'book.read': true });
    // Two of the three repetitions were answered by the cache.
    expect(await counted('lenient')).toEqual({
      permission: (before.permission ?? 0) + 1,
      resource_type: (before.resource_type ?? 0) + 1,
    });
  });

  test('refusals are counted each time, and unknown applications never', async () => {
    const before = await counted('strict');
    const [rest] = naming().filter(({ name }) => name === 'REST check') as [Door];
    for (let i = 0; i < 3; i++) await outcome(rest, {}, ['bok.read']);
    await outcome(rest, { app: 'nowhere' }, ['bok.read']);
    expect(await counted('strict')).toEqual({ ...before, permission: (before.permission ?? 0) + 3 });
    expect(await counted('nowhere')).toEqual({});
  });

  test('a cached question is refused once its code is deleted, and answered once it is back', async () => {
    const { root } = registry;
    const path = '/api/applications/strict/permissions';
    const define = async (): Promise<number> =>
      (await root.post(path, { code: 'book.sell', type: 'binary' })).body.data.id;
    let id = await define();
    for (const door of naming()) {
      // Often enough that the request itself is remembered.
      for (let i = 0; i < 3; i++)
        expect(allowed(await outcome(door, {}, ['book.sell']))).toEqual({ 'book.sell': false });
      expect((await root.delete(`${path}/${id}`)).status).toBe(204);
      expect([door.name, await outcome(door, {}, ['book.sell'])]).toMatchObject([
        door.name,
        { path: pathIn(door, 'permission') },
      ]);
      id = await define();
      expect(allowed(await outcome(door, {}, ['book.sell']))).toEqual({ 'book.sell': false });
    }
    await root.delete(`${path}/${id}`);
  });

  test('a change of catalog or strictCodes takes effect with the next answer', async () => {
    const { root } = registry;
    await root.post('/api/applications', { code: 'shelf', name: 'Shelf' });
    const path = '/api/applications/shelf';
    const entities = `${path}/entities`;
    const box = { app: 'shelf', resourceType: 'box', resourceId: '1' };
    for (const door of refusing()) {
      const refused = async (question: Partial<OracleQuestion>, permissions: string[]) =>
        !('said' in (await outcome(door, question, permissions)));
      await root.post(`${path}/permissions`, { code: 'box.open', type: 'binary' });
      const seen: boolean[] = [];
      const see = async () => seen.push(await refused(box, ['box.open']));
      await see();
      await root.put(path, { strictCodes: true });
      await see();
      const made = await root.post(entities, { code: 'crate', name: 'Crate' });
      await see();
      const id = made.body.data.id as number;
      await root.put(`${entities}/${id}`, { code: 'box' });
      await see();
      await root.put(`${entities}/${id}`, { code: 'crate', name: 'A crate' });
      await see();
      await root.put(path, { strictCodes: false });
      await see();
      await root.put(path, { strictCodes: true });
      await see();
      await root.delete(`${entities}/${id}`);
      await see();
      expect([door.name, seen]).toEqual([door.name, [false, false, true, false, true, false, true, false]]);
      await root.put(path, { strictCodes: false });
    }
  });

  test('strictCodes is part of the record, its etag and the manifest', async () => {
    const { root } = registry;
    const made = await root.post('/api/applications', { code: 'ledger', name: 'Ledger', strictCodes: true });
    expect(made.body.data).toMatchObject({ strictCodes: true });
    expect((await root.post('/api/applications', { code: 'diary', name: 'Diary' })).body.data.strictCodes).toBe(false);
    const read = await root.get('/api/applications/ledger');
    expect(read.body.data.strictCodes).toBe(true);
    const changed = await root.put('/api/applications/ledger', { strictCodes: false });
    expect(changed.body.data.strictCodes).toBe(false);
    expect(changed.headers.get('etag')).not.toBe(read.headers.get('etag'));
    expect((await root.put('/api/applications/ledger', { strictCodes: 'yes' })).status).toBe(400);
    const { manifests } = registry.usher.app;
    const [manifest, yaml] = [await manifestOf(manifests, 'strict'), await yamlOf(manifests, 'strict')];
    expect(manifest.application).toEqual({ code: 'strict', name: 'strict', strictCodes: true });
    expect(await registry.usher.app.manifests.apply(yaml, { actor: 'cli', prune: true })).toMatchObject({
      plan: { changes: [] },
    });
  });
});
