/** Writes lines to its standard output beside those of a logger, until it is told to stop; then says what came of them. */
import { systemClock } from '../../src/base/clock.ts';
import { LineWriter } from '../../src/base/line-writer.ts';
import { createLogger } from '../../src/base/telemetry.ts';

const count = Number(process.argv[2]);
const log = createLogger('info');
const parts = { path: null, clock: systemClock, log: createLogger('silent'), failing: '', working: '' };
const writer = await LineWriter.open(parts);
for (let i = 0; i < count; i++) {
  writer.push(`${JSON.stringify({ line: i, text: 'é'.repeat(200) })}\n`);
  if (i % 20 === 0) {
    log.info({ text: 'x'.repeat(1000) }, 'between');
    await new Promise(setImmediate);
  }
}
await writer.close();
process.stderr.write(JSON.stringify({ written: writer.written, dropped: writer.dropped }));
