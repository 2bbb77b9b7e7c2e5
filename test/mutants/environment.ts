import { createRequire } from 'node:module';
import type { Circus } from '@jest/types';
import { saysNothing } from './verdict.ts';

const { TestEnvironment } = createRequire(import.meta.url)(
  'jest-environment-node',
) as typeof import('jest-environment-node');

/** Leaves out what follows in a file once a test of it has noticed a mistake: a service need not start on another database then. */
export default class UntilNoticed extends TestEnvironment {
  handleTestEvent(event: Circus.Event, state: Circus.State): void {
    if (event.name !== 'test_done') return;
    const errors = event.test.errors.map((error) => String(Array.isArray(error) ? error[0] : error));
    if (errors.every(saysNothing)) return;
    leaveOut(state.rootDescribeBlock);
  }
}

function leaveOut(block: Circus.DescribeBlock): void {
  for (const child of block.children) {
    if (child.type === 'describeBlock') leaveOut(child);
    else if (child.status === null) child.mode = 'skip';
  }
}
