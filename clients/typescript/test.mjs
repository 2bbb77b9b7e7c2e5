// What the README says, asked of a service with the demonstration by the package as it is installed.
import assert from 'node:assert/strict';
import { createNotifier, createUsher, DeniedError, UnavailableError } from '@usher-service/client';
import { createAdmin } from '@usher-service/client/admin';
import { connectTransport } from '@usher-service/client/connect';
import { createLocalUsher } from '@usher-service/client/local';
import { createFakeUsher } from '@usher-service/client/testing';

const [address, url, key] = process.argv.slice(2);
const question = {
  email: 'ben@example.com',
  app: 'atelier',
  permission: 'project.access',
  resource: { type: 'project', id: '1042' },
};
const quiet = { warn: () => undefined };

const tests = {
  'the service answers': async () => {
    const usher = createUsher({ address, key, deadlineMs: 10_000 });
    const { revision, ...said } = await usher.check({ ...question, level: 'edit' });
    assert.deepEqual(said, { allowed: true, level: 'edit', source: 'role' });
    assert.match(revision, /^\d+\./);
    assert.equal(await usher.allowed({ ...question, email: 'stranger@example.com' }), false);
    usher.close();
  },
  'the service answers the same over Connect': async () => {
    const usher = createUsher({ transport: connectTransport({ url, key, deadlineMs: 10_000 }) });
    const answers = await Promise.all([
      usher.check(question),
      usher.check({ ...question, email: 'stranger@example.com' }),
    ]);
    assert.deepEqual(
      answers.map(({ allowed }) => allowed),
      [true, false],
    );
    usher.close();
  },
  'the engine in this process answers the same': async () => {
    const usher = createLocalUsher({ address, key, deadlineMs: 10_000 });
    await usher.ready();
    assert.equal((await usher.check(question)).allowed, true);
    assert.equal(usher.peek(question)?.revision, usher.revision);
    usher.close();
  },
  'a backend sends, and administers': async () => {
    const { notify } = createNotifier({ url, key });
    const order = {
      app: 'atelier',
      to: ['ben@example.com'],
      subject: 'Drawings',
      body: 'They are ready.',
      idempotencyKey: 'drawings-17',
    };
    assert.deepEqual(await notify(order), await notify(order));
    const admin = createAdmin({ url, key });
    const path = { appCode: 'atelier' };
    const { data: manifest } = await admin.GET('/api/applications/{appCode}/manifest', { params: { path } });
    const { data: plan } = await admin.POST('/api/manifests/apply', {
      params: { query: { dryRun: true } },
      body: manifest,
    });
    assert.equal(plan.summary.change, 0);
    await assert.rejects(
      admin.GET('/api/applications/{appCode}', { params: { path: { appCode: 'nowhere' } } }),
      DeniedError,
    );
  },
  'trouble is false, and an error': async () => {
    const usher = createUsher({ address: '127.0.0.1:1', key, deadlineMs: 300, log: quiet });
    assert.equal(await usher.allowed(question), false);
    await assert.rejects(usher.check(question), UnavailableError);
    usher.close();
    const stranger = createUsher({ address, key: 'a-key-that-nobody-has', deadlineMs: 10_000 });
    await assert.rejects(stranger.check(question), DeniedError);
    stranger.close();
  },
  'guards and the fake load': async () => {
    for (const name of ['express', 'fastify', 'hono', 'nestjs']) await import(`@usher-service/client/${name}`);
    assert.equal(await createFakeUsher().allow(question).allowed(question), true);
  },
};

let failed = 0;
for (const [name, test] of Object.entries(tests)) {
  try {
    await test();
    console.log(`ok ${name}`);
  } catch (error) {
    failed++;
    console.error(`not ok ${name}`, error);
  }
}
console.log(`${Object.keys(tests).length - failed} passed, ${failed} failed`);
process.exitCode = failed === 0 ? 0 : 1;
