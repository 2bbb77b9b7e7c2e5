import { fromBinary } from '@bufbuild/protobuf';
import { BinaryWriter, WireType } from '@bufbuild/protobuf/wire';
import { Client, credentials } from '@grpc/grpc-js';
import { afterAll, beforeAll, describe, expect, test } from '@jest/globals';
import { BulkCheckResponseSchema, CheckResponseSchema } from '../../src/gen/usher/permission/v1/permission_pb.ts';
import { callBytes, framed } from '../grpc/support.ts';
import { createStorage, type TestStorage } from '../support/databases.ts';
import { type RunningUsher, startUsher } from '../support/usher.ts';

/**
 * Question hygiene: the wide question is allowed, the one about this record is denied. However a question about the record is
 * garbled, it must never be answered as the wide one. (docs/reference/decisions.md#strict-questions.)
 */
const MANIFEST = `
application: { code: billing, name: Billing }
permissions: [{ code: invoice.read, type: tiered }]
roles: [{ code: reader, permissions: { invoice.read: view } }]
assignments: [{ email: ada@example.com, roles: [reader] }]
overrides:
  - { email: ada@example.com, resourceType: invoice, resourceId: "1", permission: invoice.read, granted: false }
`;
const WHO = { email: 'ada@example.com' };
const WIDE = { app: 'billing', permission: 'invoice.read' };
const RECORD = { resourceType: 'invoice', resourceId: '1' };
/** What stands where a text was meant. */
const VALUES: readonly unknown[] = [null, '', 0, 1, true, [], ['invoice'], {}, { $eq: 'invoice' }, [null], [['1']]];
const NAMES = (name: string): string[] => [
  name.toLowerCase(),
  name.toUpperCase(),
  `${name} `,
  ` ${name}`,
  `${name}s`,
  name.replace(/[A-Z]/, (c) => `_${c.toLowerCase()}`),
  name.replace(/[A-Z]/, (c) => `-${c.toLowerCase()}`),
  name.replace('resource', 'Resource'),
  name.replace('resource', 'object'),
  name.slice(0, -1),
  `${name}\u0000`,
  `$.${name}`,
  `resource.${name}`,
  '__proto__',
  'constructor',
  'toString',
  'prototype',
];

/** Bodies of which none asks the wide question in the strict reading, though a careless reader would take it so. */
function garbledBodies(fields: 'camel' | 'either'): string[] {
  const base = { ...WIDE, ...RECORD };
  const bodies: string[] = [JSON.stringify(base)];
  for (const field of ['resourceType', 'resourceId'] as const) {
    const { [field]: value, ...rest } = base;
    for (const other of VALUES) bodies.push(JSON.stringify({ ...rest, [field]: other }));
    bodies.push(JSON.stringify(rest));
    for (const name of NAMES(field)) {
      // Connect takes a field by its name in the contract, too.
      if (fields === 'either' && name === field.replace(/[A-Z]/, (c) => `_${c.toLowerCase()}`)) continue;
      bodies.push(`${JSON.stringify(rest).slice(0, -1)},${JSON.stringify(name)}:${JSON.stringify(value)}}`);
      bodies.push(`${JSON.stringify(WIDE).slice(0, -1)},${JSON.stringify(name)}:${JSON.stringify(value)}}`);
    }
    bodies.push(
      `${JSON.stringify(base).slice(0, -1)},"${field}":null}`,
      `${JSON.stringify(base).slice(0, -1)},"${field}":""}`,
    );
  }
  for (const type of [
    'Invoice',
    'INVOICE',
    ' invoice',
    'invoice ',
    'invoice\n',
    'in:voice',
    'ínvoice',
    'invoice\u0000',
    '\ud800',
  ]) {
    bodies.push(JSON.stringify({ ...base, resourceType: type }));
  }
  for (const more of [
    'extra',
    'accesslevel',
    'level',
    'resource',
    'resources',
    'context',
    'minRevision2',
    '__proto__',
    'constructor',
  ]) {
    bodies.push(`${JSON.stringify(WIDE).slice(0, -1)},"${more}":{"resourceType":"invoice"}}`);
  }
  for (const raw of ['', '[]', 'null', '"x"', '1', '{', `[${JSON.stringify(WIDE)}]`, `${JSON.stringify(WIDE)}{}`])
    bodies.push(raw);
  return bodies;
}

type Write = (writer: BinaryWriter) => void;

/** The same for protobuf: fields that the server does not know, halves, wrong wire types, groups, broken ends. */
function garbledMessages(): Uint8Array[] {
  const text =
    (no: number, value: string): Write =>
    (w) =>
      w.tag(no, WireType.LengthDelimited).string(value);
  const wide = [text(1, WHO.email), text(2, WIDE.app), text(3, WIDE.permission)];
  const all = [...wide, text(4, RECORD.resourceType), text(5, RECORD.resourceId)];
  const message = (...writes: Write[]): Uint8Array => {
    const writer = new BinaryWriter();
    for (const write of writes) write(writer);
    return writer.finish();
  };
  const out = [message(...all), message(...wide, all[3] as Write), message(...wide, all[4] as Write)];
  for (const no of [8, 9, 15, 16, 100, 2047, 19_000, 536_870_911]) {
    out.push(message(...wide, text(no, 'invoice')), message(text(no, ''), ...wide));
    out.push(message(...wide, (w) => w.tag(no, WireType.Varint).uint32(1)));
    out.push(message(...wide, (w) => w.tag(no, WireType.Bit32).fixed32(1)));
    out.push(message(...wide, (w) => w.tag(no, WireType.Bit64).fixed64(1)));
    out.push(message(...wide, (w) => w.tag(no, WireType.StartGroup).tag(no, WireType.EndGroup)));
  }
  for (const no of [4, 5]) {
    out.push(message(...wide, (w) => w.tag(no, WireType.Varint).uint32(1)));
    out.push(message(...wide, (w) => w.tag(no, WireType.Bit32).fixed32(1)));
    out.push(message(...wide, (w) => w.tag(no, WireType.LengthDelimited).bytes(new Uint8Array([0xff, 0xfe]))));
    out.push(message(...wide, (w) => w.tag(no, WireType.StartGroup).tag(no, WireType.EndGroup)));
  }
  const whole = message(...all);
  // Cut inside the record's fields: what is left must not pass for the wide question. (At their border it is that question.)
  const border = message(...wide).length;
  for (let end = border + 1; end < whole.length; end++) out.push(whole.subarray(0, end));
  for (const type of ['Invoice', ' invoice', 'invoice\u0000', 'in:voice'])
    out.push(message(...wide, text(4, type), all[4] as Write));
  return out;
}

describe('strict questions on six transports', () => {
  let storage: TestStorage;
  let usher: RunningUsher;
  let grpc: Client;
  let bearer: string;

  beforeAll(async () => {
    storage = await createStorage('postgresql');
    usher = await startUsher(storage);
    await usher.app.manifests.apply(MANIFEST, { actor: 'cli' });
    grpc = new Client(usher.grpc, credentials.createInsecure(), { 'grpc.use_local_subchannel_pool': 1 });
    bearer = `Bearer ${await usher.token(WHO.email)}`;
  }, 60_000);
  afterAll(async () => {
    grpc?.close();
    await usher?.close();
    await storage?.remove();
  }, 60_000);

  const service = '/usher.permission.v1.PermissionService';
  const post = async (path: string, type: string, body: string | Uint8Array, headers: Record<string, string> = {}) => {
    const sent = typeof body === 'string' ? body : Buffer.from(body);
    const response = await fetch(usher.rest + path, {
      method: 'POST',
      headers: { 'content-type': type, ...headers },
      body: sent,
    });
    return { status: response.status, bytes: Buffer.from(await response.arrayBuffer()) };
  };
  const json = (bytes: Buffer): unknown => (bytes.length === 0 ? undefined : JSON.parse(bytes.toString('utf8')));
  const withWho = (body: string): string => body.replace(/^\{/, `{"email":"${WHO.email}",`);

  /** Whether the transport allowed; a refusal counts as not allowed. Anything but an answer or a refusal throws. */
  const jsonDoors: Record<string, (body: string) => Promise<boolean>> = {
    'REST check': async (body) => {
      const { status, bytes } = await post('/api/check', 'application/json', withWho(body));
      return asked(status) && (json(bytes) as { data: { allowed: boolean } }).data.allowed;
    },
    'REST user-scoped check': async (body) => {
      const { status, bytes } = await post('/api/profile/me/check', 'application/json', body, {
        authorization: bearer,
      });
      return asked(status) && (json(bytes) as { allowed: boolean }).allowed;
    },
    'REST bulk': async (body) => {
      const { status, bytes } = await post('/api/check/bulk', 'application/json', withWho(inBulk(body)));
      return asked(status) && Object.values((json(bytes) as { data: Record<string, boolean> }).data).some(Boolean);
    },
    'REST user-scoped bulk': async (body) => {
      const { status, bytes } = await post('/api/profile/me/check/bulk', 'application/json', inBulk(body), {
        authorization: bearer,
      });
      return asked(status) && Object.values(json(bytes) as Record<string, boolean>).some(Boolean);
    },
    'Connect JSON': async (body) => {
      const { status, bytes } = await post(`${service}/Check`, 'application/json', withWho(body));
      return asked(status) && (json(bytes) as { allowed: boolean }).allowed;
    },
  };
  const binaryDoors: Record<string, (message: Uint8Array) => Promise<boolean>> = {
    gRPC: async (message) => {
      try {
        return fromBinary(CheckResponseSchema, (await callBytes(grpc, 'Check', message)).message as Uint8Array).allowed;
      } catch (error) {
        expect((error as { code: number }).code).toBe(3);
        return false;
      }
    },
    'gRPC bulk': async (message) => {
      try {
        const { message: answer } = await callBytes(grpc, 'BulkCheck', message);
        return fromBinary(BulkCheckResponseSchema, answer as Uint8Array).results.some(({ allowed }) => allowed);
      } catch (error) {
        expect((error as { code: number }).code).toBe(3);
        return false;
      }
    },
    'Connect binary': async (message) => {
      const { status, bytes } = await post(`${service}/Check`, 'application/proto', message);
      return asked(status) && fromBinary(CheckResponseSchema, bytes).allowed;
    },
    'gRPC-Web': async (message) => {
      const { status, bytes } = await post(`${service}/Check`, 'application/grpc-web+proto', framed(message));
      expect(status).toBe(200);
      // A data frame, or the trailers alone.
      if (bytes[0] !== 0) return false;
      return fromBinary(CheckResponseSchema, bytes.subarray(5, 5 + bytes.readUInt32BE(1))).allowed;
    },
  };

  test('the wide question is allowed and the narrow one denied, so that a careless reader fails', async () => {
    for (const ask of Object.values(jsonDoors)) {
      expect([await ask(JSON.stringify(WIDE)), await ask(JSON.stringify({ ...WIDE, ...RECORD }))]).toEqual([
        true,
        false,
      ]);
    }
  });

  test.each(Object.keys(jsonDoors))('no garbled JSON question is allowed: %s', async (name) => {
    const ask = jsonDoors[name] as (body: string) => Promise<boolean>;
    const wrong: string[] = [];
    const bodies = garbledBodies(name.startsWith('Connect') ? 'either' : 'camel');
    for (const body of bodies) if (await ask(body)) wrong.push(body);
    // Protobuf's JSON reads null and '' as absent for both fields: only both at once would be the wide question.
    expect(wrong).toEqual([]);
    expect(bodies.length).toBeGreaterThan(100);
  });

  test.each(Object.keys(binaryDoors))('no garbled binary question is allowed: %s', async (name) => {
    const ask = binaryDoors[name] as (message: Uint8Array) => Promise<boolean>;
    const wrong: string[] = [];
    for (const message of garbledMessages()) if (await ask(message)) wrong.push(Buffer.from(message).toString('hex'));
    expect(wrong).toEqual([]);
  });
});

/** 200 is an answer; 4xx a refusal. Trouble would prove nothing. */
function asked(status: number): boolean {
  expect(status).toBeLessThan(500);
  return status === 200;
}

function inBulk(body: string): string {
  return body.replace('"permission":"invoice.read"', '"permissions":["invoice.read"]');
}
