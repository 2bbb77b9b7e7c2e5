import { describe, expect, test } from '@jest/globals';
import { Rest } from '../support/rest.ts';
import {
  ALICE,
  action,
  BOB,
  binary,
  decisionsOf,
  ENDPOINTS,
  type Endpoint,
  type Facts,
  granted,
  issuesOf,
  KEY,
  OTHER_KEY,
  PUBLIC_URL,
  pathOf,
  user,
  useService,
} from './point.ts';

/**
 * The core levels of the certification scenario of the OpenID Authorization API 1.0. The facts are those of its rules 1 to 4; the
 * other rules are on properties, by which Usher does not decide.
 */
const certification: Facts = {
  application: { code: 'certification', name: 'Certification' },
  permissions: binary('read', 'write', 'delete'),
  overrides: [
    granted(ALICE, 'read', 'record', 'record-1'),
    granted(ALICE, 'write', 'record', 'record-1'),
    granted(BOB, 'read', 'record', 'record-1'),
  ],
};

const service = useService([certification]);

describe('the certification scenario', () => {
  const SUBJECT = user(ALICE);
  const READ = action('read');
  const RECORD = { type: 'record', id: 'record-1' };
  const QUESTION = { subject: SUBJECT, action: READ, resource: RECORD };
  const ask = (endpoint: Endpoint, body: unknown, headers?: Record<string, string>) =>
    service.ask('certification', endpoint, body, headers);

  test.each([
    [ALICE, 'read', true],
    [ALICE, 'write', true],
    [BOB, 'read', true],
    [BOB, 'write', false],
  ])('an evaluation repeated three times stays the same: %s may %s record-1: %s', async (id, name, expected) => {
    for (let count = 0; count < 3; count++) {
      const { body } = await ask('evaluation', { subject: user(id), action: action(name), resource: RECORD });
      expect(body.decision).toBe(expected);
    }
  });

  test.each<[string, object]>([
    ['a context', { context: { time: '2025-06-27T18:03-07:00', ip: '192.168.1.1' } }],
    [
      'properties',
      {
        subject: { ...SUBJECT, properties: { department: 'Sales', role: 'manager' } },
        action: { ...READ, properties: { method: 'GET' } },
        resource: { ...RECORD, properties: { status: 'active', owner: 'bob' } },
      },
    ],
    ['members that the standard does not name', { foo: 'bar', futureField: { nested: true } }],
    ['such members in an entity', { subject: { ...SUBJECT, foo: 1 }, resource: { ...RECORD, __proto__: null, x: [] } }],
  ])('%s of a request changes nothing', async (_, more) => {
    const { status, body } = await ask('evaluation', { ...QUESTION, ...more });
    expect([status, body.decision]).toEqual([200, true]);
  });

  const without = (name: keyof typeof QUESTION) =>
    Object.fromEntries(Object.entries(QUESTION).filter(([member]) => member !== name));
  const BAD: [string, object, string][] = [
    ['no subject', without('subject'), 'subject: is required'],
    ['no action', without('action'), 'action: is required'],
    ['no resource', without('resource'), 'resource: is required'],
    ['a subject without a type', { ...QUESTION, subject: { id: ALICE } }, 'subject.type: is required'],
    ['a subject without an id', { ...QUESTION, subject: { type: 'user' } }, 'subject.id: is required'],
    ['an action without a name', { ...QUESTION, action: {} }, 'action.name: is required'],
    ['a resource without a type', { ...QUESTION, resource: { id: 'record-1' } }, 'resource.type: is required'],
    ['a resource without an id', { ...QUESTION, resource: { type: 'record' } }, 'resource.id: is required'],
    ['a subject that is text', { ...QUESTION, subject: ALICE }, 'subject: must be an object'],
    ['a name that is a number', { ...QUESTION, action: { name: 123 } }, 'action.name: must be a string'],
  ];

  test.each(BAD)('%s is 400, at both endpoints and with empty evaluations', async (_, body, issue) => {
    for (const answer of [
      await ask('evaluation', body),
      await ask('evaluations', body),
      await ask('evaluations', { ...body, evaluations: [] }),
    ]) {
      expect([answer.status, answer.body.success, answer.body.details.code]).toEqual([400, false, 'VALIDATION_FAILED']);
      expect(issuesOf(answer)).toEqual([issue]);
      expect(answer.body.requestId).toBe(answer.headers.get('x-request-id'));
    }
  });

  test.each<[string, string | undefined, string, number]>([
    ['text', '{}', 'text/plain', 415],
    ['half a JSON', '{"subject":', 'application/json', 400],
    ['nothing', '', 'application/json', 400],
    ['a list', '[]', 'application/json', 400],
  ])('a body of %s is refused', async (_, body, type, status) => {
    for (const endpoint of ENDPOINTS) {
      const response = await fetch(service.usher.rest + pathOf('certification', endpoint), {
        method: 'POST',
        headers: { authorization: `Bearer ${KEY}`, 'content-type': type },
        body: body ?? null,
      });
      expect([endpoint, response.status, await response.json()]).toEqual([
        endpoint,
        status,
        expect.objectContaining({ success: false }),
      ]);
    }
  });

  test('evaluations without items are answered like one evaluation', async () => {
    const single = await ask('evaluation', QUESTION);
    for (const more of [{}, { evaluations: [] }, { evaluations: null }]) {
      const { status, body } = await ask('evaluations', { ...QUESTION, ...more });
      expect([status, body]).toEqual([200, single.body]);
    }
  });

  test('evaluations keep number and order', async () => {
    const { body } = await ask('evaluations', {
      resource: RECORD,
      evaluations: [
        { subject: user(BOB), action: action('write') },
        { subject: user(ALICE), action: action('write') },
        { subject: user(BOB), action: READ },
      ],
    });
    expect(decisionsOf(body)).toEqual([false, true, true]);
  });

  test('searches ignore the id of the searched entity, and an action search ignores pages', async () => {
    const subjects = { subject: { type: 'user' }, action: READ, resource: RECORD };
    const plain = await ask('search/subject', subjects);
    expect(plain.body.results).toEqual(expect.arrayContaining([user(ALICE), user(BOB)]));
    expect((await ask('search/subject', { ...subjects, subject: user(ALICE) })).body).toEqual(plain.body);
    const resources = { subject: SUBJECT, action: READ, resource: { type: 'record' } };
    const found = await ask('search/resource', resources);
    expect(found.body.results).toEqual([RECORD]);
    const named = { ...resources, resource: { type: 'record', id: 'record-2' } };
    expect((await ask('search/resource', named)).body).toEqual(found.body);
    const actions = { subject: SUBJECT, resource: RECORD, page: { limit: 1 }, context: {} };
    expect((await ask('search/action', actions)).body.results).toEqual([READ, action('write')]);
  });

  test.each<[Endpoint, object, string]>([
    ['search/subject', { action: READ, resource: RECORD }, 'subject: is required'],
    ['search/subject', { subject: { type: 'user' }, resource: RECORD }, 'action: is required'],
    ['search/subject', { subject: { type: 'user' }, action: READ }, 'resource: is required'],
    ['search/subject', { ...QUESTION, resource: { type: 'record' } }, 'resource.id: is required'],
    ['search/subject', { ...QUESTION, subject: {} }, 'subject.type: is required'],
    ['search/resource', { action: READ, resource: RECORD }, 'subject: is required'],
    ['search/resource', { ...QUESTION, subject: { type: 'user' } }, 'subject.id: is required'],
    ['search/resource', { ...QUESTION, resource: {} }, 'resource.type: is required'],
    ['search/action', { subject: SUBJECT }, 'resource: is required'],
    ['search/action', { ...QUESTION, subject: { type: 'user' } }, 'subject.id: is required'],
    ['search/action', { ...QUESTION, resource: { type: 'record' } }, 'resource.id: is required'],
  ])('%s names the missing member', async (endpoint, body, issue) => {
    const answer = await ask(endpoint, body);
    expect([answer.status, issuesOf(answer)]).toEqual([400, [issue]]);
  });

  test.each(['bfe9eb29-ab87-4ca3-be83-a1d5d8305716', '1', '!#"<script>~{}', 'x'.repeat(128)])(
    'the request id %s comes back, also with errors',
    async (id) => {
      const answers = [
        await ask('evaluation', QUESTION, { 'x-request-id': id }),
        await ask('search/action', {}, { 'x-request-id': id }),
        await service.bare(pathOf('certification', 'evaluation'), QUESTION, { 'x-request-id': id }),
        await (await Rest.as(service.usher)).send(
          'PUT',
          pathOf('certification', 'evaluation'),
          {},
          { 'x-request-id': id },
        ),
      ];
      expect(answers.map(({ status }) => status)).toEqual([200, 400, 401, 405]);
      expect(answers.map(({ headers }) => headers.get('x-request-id'))).toEqual([id, id, id, id]);
      for (const { body } of answers.slice(1)) expect(body.requestId).toBe(id);
    },
  );

  test.each(['x'.repeat(129), 'two words', ''])('the request id "%s" is replaced by a generated one', async (id) => {
    const { status, headers } = await ask('evaluation', QUESTION, { 'x-request-id': id });
    expect(status).toBe(200);
    expect(headers.get('x-request-id')).toMatch(/^[0-9a-f-]{36}$/);
  });

  test('the metadata contain the endpoints below the public URL', async () => {
    const rest = Rest.bearing(service.usher, KEY);
    const { status, headers, body } = await rest.get('/.well-known/authzen-configuration/authzen/certification', {
      'x-request-id': '1',
    });
    const point = `${PUBLIC_URL}/authzen/certification`;
    expect([status, headers.get('content-type'), headers.get('x-request-id')]).toEqual([
      200,
      'application/json; charset=utf-8',
      '1',
    ]);
    expect(body).toEqual({
      policy_decision_point: point,
      access_evaluation_endpoint: `${point}/access/v1/evaluation`,
      access_evaluations_endpoint: `${point}/access/v1/evaluations`,
      search_subject_endpoint: `${point}/access/v1/search/subject`,
      search_resource_endpoint: `${point}/access/v1/search/resource`,
      search_action_endpoint: `${point}/access/v1/search/action`,
    });
    // What it names is there.
    for (const url of Object.values<string>(body).slice(1)) {
      expect((await rest.post(url.slice(PUBLIC_URL.length), {})).status).toBe(400);
    }
    for (const code of ['nowhere', 'No%20Code']) {
      const answer = await rest.get(`/.well-known/authzen-configuration/authzen/${code}`);
      expect([answer.status, answer.body.code]).toEqual([404, 'NOT_FOUND']);
    }
  });

  describe('the key', () => {
    const METADATA = '/.well-known/authzen-configuration/authzen/certification';
    const call = async (path: string, headers: Record<string, string>) => {
      const rest = await Rest.as(service.usher);
      return path === METADATA ? await rest.get(path, headers) : await rest.post(path, {}, headers);
    };
    const paths = [METADATA, ...ENDPOINTS.map((endpoint) => pathOf('certification', endpoint))];

    test.each<[string, (token: string) => Record<string, string>, number]>([
      ['as a bearer', () => ({ authorization: `Bearer ${KEY}` }), 400],
      ['as a bearer, in lower case', () => ({ authorization: `bearer  ${KEY}` }), 400],
      ['in its header', () => ({ 'x-internal-api-key': KEY }), 400],
      [
        'in its header, beside another credential',
        () => ({ 'x-internal-api-key': KEY, authorization: 'Basic x' }),
        400,
      ],
      [
        'wrong in its header, right as a bearer',
        () => ({ 'x-internal-api-key': 'no', authorization: `Bearer ${KEY}` }),
        401,
      ],
      ['wrong as a bearer', () => ({ authorization: 'Bearer a-key-that-nobody-was-given' }), 401],
      ['by another scheme', () => ({ authorization: `Basic ${KEY}` }), 401],
      ['of two words', () => ({ authorization: `Bearer ${KEY} ${KEY}` }), 401],
      ['missing', () => ({}), 401],
      ["a user's token instead", (token) => ({ authorization: `Bearer ${token}` }), 401],
      ['of another scope', () => ({ authorization: `Bearer ${OTHER_KEY}` }), 403],
      [
        'from a page of another origin',
        () => ({ authorization: `Bearer ${KEY}`, origin: 'https://evil.example.com' }),
        403,
      ],
    ])('the key is accepted or refused: %s', async (_, headersOf, expected) => {
      const headers = headersOf(await service.usher.token(ALICE));
      for (const path of paths) {
        const answer = await call(path, headers);
        const passed = path === METADATA && expected === 400 ? 200 : expected;
        expect([path, answer.status]).toEqual([path, passed]);
        const challenge = answer.headers.get('www-authenticate');
        if (expected === 401) expect(challenge).toMatch(/^(Bearer|ApiKey) realm="usher"/);
        else expect(challenge).toBeNull();
      }
    });
  });
});
