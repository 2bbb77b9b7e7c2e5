/** Asks the engine in this process again and again, and writes each answer: for frozen.test.ts, which stops the process meanwhile. */
import { createLocalUsher } from '../../clients/typescript/src/local.ts';

const [address = '', key = '', email = '', maxStalenessMs = ''] = process.argv.slice(2);
const usher = createLocalUsher({ address, key, maxStalenessMs: Number(maxStalenessMs), deadlineMs: 5000 });
const question = { email, app: 'shop', permission: 'read' };
await usher.ready();
await usher.check(question);

function answer(): string {
  try {
    const decision = usher.peek(question);
    // Its facts have ended: they are asked for.
    if (decision === undefined) void usher.allowed(question);
    return decision?.allowed === true ? 'allowed' : 'not';
  } catch (error) {
    return (error as { reason: string }).reason;
  }
}

setInterval(() => process.stdout.write(`${answer()}\n`), 10);
