// Calls a service once by each of the three generated clients, whose types refuse what is no member of a question.
import createClient from 'openapi-fetch';
import { check as byHey } from './hey';
import { client as heyClient } from './hey/client.gen';
import type { paths } from './openapi-typescript';
import { check as byOrval } from './orval';

const [url = '', key = ''] = process.argv.slice(2);
const headers = { 'x-internal-api-key': key };
const question = { email: 'ben@example.com', app: 'atelier', permission: 'project.access' };

const calls = {
  'openapi-typescript': async () => {
    const client = createClient<paths>({ baseUrl: url, headers });
    const { data } = await client.POST('/api/check', { body: question });
    return data?.data.allowed;
  },
  '@hey-api/openapi-ts': async () => {
    heyClient.setConfig({ baseUrl: url, headers });
    const { data } = await byHey({ body: question });
    return data?.data.allowed;
  },
  orval: async () => {
    const answer = await byOrval(question, { headers });
    return answer.status === 200 && answer.data.data.allowed;
  },
};

async function main() {
  for (const [name, call] of Object.entries(calls)) {
    if ((await call()) !== true) throw new Error(`${name}: the client got another answer`);
  }
}

/** Never called: no generated type takes a member that a question does not have. */
export const refused = [
  // @ts-expect-error: unknown member
  (): paths['/api/check']['post']['requestBody']['content']['application/json'] => ({ ...question, record: 'a' }),
  // @ts-expect-error: unknown member
  () => byHey({ body: { ...question, record: 'a' } }),
  // @ts-expect-error: unknown member
  () => byOrval({ ...question, record: 'a' }),
];

void main();
