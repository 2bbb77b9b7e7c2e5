import { request } from 'node:http';
import { beforeAll, describe, expect, test } from '@jest/globals';
import { KEY, keepAccount, pathOf, useService } from './point.ts';
import { ACCOUNTS, GATEWAY, publishedCases } from './scenarios.ts';

/**
 * The gateway authorizers of the AuthZEN working group (https://github.com/openid/authzen, interop/authzen-api-gateways), by the bytes
 * that each sends. Those of AWS and Envoy were captured from the programs themselves. Kong's and Tyk's bodies were written by their
 * encoders, Zuplo's follows the code of its policy.
 */

interface Question {
  readonly sub: string;
  readonly method: string;
  readonly route: string;
}

interface Authorizer {
  readonly headers: Record<string, string>;
  readonly body: (question: Question) => string;
}

const subject = (sub: string) => ({ type: 'identity', id: sub });

const AUTHORIZERS: Record<string, Authorizer> = {
  aws: {
    headers: { accept: '*/*', 'accept-encoding': 'gzip, deflate, br', 'user-agent': 'node-fetch' },
    body: ({ sub, method, route }) =>
      JSON.stringify({
        subject: subject(sub),
        action: { name: method },
        resource: { type: 'route', id: route },
        context: {},
      }),
  },
  // Go's encoder ends with a line feed, and the route's parameters come as properties.
  envoy: {
    headers: { 'User-Agent': 'Go-http-client/1.1', 'Accept-Encoding': 'gzip' },
    body: ({ sub, method, route }) => {
      const path = route.replace(/\{\w+\}/, '7240d0db-8ff0-41ec-98b2-34a096273b91');
      const named = /\{(\w+)\}/.exec(route)?.[1];
      const params = named === undefined ? {} : { [named]: '7240d0db-8ff0-41ec-98b2-34a096273b91' };
      const uri = `http://gateway.example.com${path}`;
      const properties = { hostname: 'gateway.example.com', ip: '', params, path, schema: 'http', uri };
      const resource = { type: 'route', id: route, properties };
      return `${JSON.stringify({ subject: subject(sub), action: { name: method }, resource, context: {} })}\n`;
    },
  },
  // lua-cjson escapes every slash, and its members have the order of a hash table.
  kong: {
    headers: { 'User-Agent': 'lua-resty-http/0.17.2 (Lua) ngx_lua/10026' },
    body: ({ sub, method, route }) =>
      `{"action":{"name":"${method}"},"subject":{"id":"${sub}","type":"identity"},"resource":{"id":"${route.replaceAll('/', String.raw`\/`)}","type":"route"}}`,
  },
  tyk: {
    headers: { 'User-Agent': 'Go-http-client/1.1', 'Accept-Encoding': 'gzip' },
    body: ({ sub, method, route }) =>
      `{"subject":{"type":"identity","id":"${sub}"},"action":{"name":"${method}"},"resource":{"type":"route","id":"${route}"}}\n`,
  },
  zuplo: {
    headers: {},
    body: ({ sub, method, route }) =>
      JSON.stringify({
        subject: subject(sub),
        resource: { type: 'route', id: route },
        action: { name: method },
      }),
  },
};

/** Sends a body as it is, with no header but these and its length. */
function post(
  url: string,
  headers: Record<string, string>,
  body: string,
): Promise<{ status: number | undefined; body: string }> {
  return new Promise((resolve, reject) => {
    const sent = request(url, { method: 'POST', headers: { ...headers, 'Content-Length': Buffer.byteLength(body) } });
    sent.on('error', reject).on('response', async (response) => {
      const chunks = await response.toArray();
      resolve({ status: response.statusCode, body: Buffer.concat(chunks).toString() });
    });
    sent.end(body);
  });
}

describe('the published gateway authorizers', () => {
  const service = useService([GATEWAY]);
  beforeAll(async () => {
    for (const [email, sub] of ACCOUNTS) await keepAccount(service, email, sub);
  });

  const ask = ({ headers, body }: Authorizer, question: Question, authorization = `Bearer ${KEY}`) =>
    post(
      service.usher.rest + pathOf('gateway', 'evaluation'),
      { 'Content-Type': 'application/json', Authorization: authorization, ...headers },
      body(question),
    );

  test.each(Object.entries(AUTHORIZERS))('%s gets the published decisions', async (_, authorizer) => {
    for (const { request: asked, expected } of publishedCases('gateway')) {
      const { subject, action, resource } = asked as Record<string, { id: string; name: string }>;
      const question = { sub: subject?.id, method: action?.name, route: resource?.id } as Question;
      const { status, body } = await ask(authorizer, question);
      expect([question, status, JSON.parse(body).decision]).toEqual([question, 200, expected]);
    }
  });

  // All but Kong's and Zuplo's look at `decision` alone, whatever the status.
  test.each(Object.entries(AUTHORIZERS))('%s finds no yes in a refusal', async (_, authorizer) => {
    const [[, sub]] = ACCOUNTS as [[string, string]];
    const question = { sub, method: 'GET', route: '/todos' };
    const refused: [Question, string | undefined, number][] = [
      [question, 'Bearer another-key', 401],
      [question, KEY, 401],
      [{ ...question, sub: '' }, undefined, 400],
      [{ ...question, route: '' }, undefined, 400],
    ];
    for (const [asked, authorization, expected] of refused) {
      const { status, body } = await ask(authorizer, asked, authorization);
      expect([status, JSON.parse(body).decision]).toEqual([expected, undefined]);
    }
  });

  test.each(Object.entries(AUTHORIZERS))('%s is denied for an account that nobody has', async (_, authorizer) => {
    const { status, body } = await ask(authorizer, { sub: 'unknown', method: 'GET', route: '/todos' });
    expect([status, JSON.parse(body).decision]).toEqual([200, false]);
  });
});
