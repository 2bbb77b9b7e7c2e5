// Loads the demonstration, and sends mail of the default brand to the catcher. Again changes nothing.
// Usage: node setup.mjs MAIN, where MAIN is main.js of the service; USHER_URL and SMTP_PORT say where things are elsewhere.
import { execFileSync } from 'node:child_process';

const [main] = process.argv.slice(2);
const port = Number(process.env.SMTP_PORT ?? 1025);
const url = process.env.USHER_URL ?? 'http://127.0.0.1:8080';
const usher = (...args) => execFileSync(process.execPath, [main, ...args], { encoding: 'utf8' }).trim();

usher('demo');
const headers = { authorization: `Bearer ${usher('token', 'admin@example.com')}`, 'content-type': 'application/json' };

async function call(method, path, body) {
  const options = { method, headers, body: body && JSON.stringify(body), signal: AbortSignal.timeout(10_000) };
  const answer = await fetch(`${url}${path}`, options);
  if (!answer.ok) throw new Error(`${method} ${path} answers ${answer.status}: ${await answer.text()}`);
  return (await answer.json()).data;
}

const brand = (await call('GET', '/api/admin/brands')).find(({ isDefault }) => isDefault);
await call('PUT', `/api/admin/brands/${brand.id}`, {
  emailFrom: 'usher@example.com',
  smtp: { host: '127.0.0.1', port },
});
console.log(
  `The demonstration is loaded, and its mail goes to port ${port}. The log of \`usher\` has the link to the panel.`,
);
