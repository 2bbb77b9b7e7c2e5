import { rm } from 'node:fs/promises';
import { running } from './running.ts';

export default async function teardown(): Promise<void> {
  const { current } = running;
  running.current = undefined;
  if (current === undefined) return;
  await current.pooler?.close();
  await current.server.close();
  await rm(current.scratch, { recursive: true, force: true });
}
