import { setTimeout as sleep } from 'node:timers/promises';
import { expect, test } from '@jest/globals';
import { startService } from './harness.ts';

/** Longer than any test waits between two signals, so that the second arrives during an orderly end. */
const env = { SHUTDOWN_NOTICE_MS: '3000' };

// Ctrl-C reaches every process of a terminal's group, and npm passes it on to the service besides.
test('a signal that arrives twice at once is one, and the service ends in order', async () => {
  const service = await startService(env);
  try {
    process.kill(service.pid, 'SIGINT');
    await sleep(50);
    process.kill(service.pid, 'SIGINT');
    expect(await service.exited).toBe(0);
  } finally {
    await service.remove();
  }
});

test.each([
  ['the same signal later', 'SIGINT', 700],
  ['another signal', 'SIGTERM', 0],
] as const)('%s ends the service at once', async (_, second, afterMs) => {
  const service = await startService(env);
  try {
    process.kill(service.pid, 'SIGINT');
    await sleep(afterMs);
    process.kill(service.pid, second);
    expect(await service.exited).toBe(1);
  } finally {
    await service.remove();
  }
});
