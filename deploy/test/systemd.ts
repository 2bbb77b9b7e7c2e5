/** The units: read by systemd itself, and their exposure by its own measure. Run by .ci/run where systemd-analyze is installed. */

import { spawnSync } from 'node:child_process';
import { chmodSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { basename, join, resolve } from 'node:path';
import { must } from './service.ts';

const ROOT = resolve(import.meta.dirname, '../..');
const COMMAND = '/usr/local/bin/usher';
/** In tenths: 20 is 2.0 of 10, "OK" begins below 4.5. */
const UNITS = [
  ['deploy/systemd/usher.service', 20],
  ['examples/edge/usher-edge.service', 40],
] as const;

const work = mkdtempSync(join(tmpdir(), 'usher-units-'));
try {
  // A unit is refused when its command is not there, so it is verified with one that is.
  const stub = join(work, 'usher');
  writeFileSync(stub, '#!/bin/sh\n');
  chmodSync(stub, 0o755);
  for (const [unit, threshold] of UNITS) {
    const text = readFileSync(join(ROOT, unit), 'utf8');
    must(text.includes(`ExecStart=${COMMAND} serve\n`), `${unit} does not start ${COMMAND}`);
    const copy = join(work, basename(unit));
    writeFileSync(copy, text.replaceAll(COMMAND, stub));
    const faults = analyze('verify', '--man=no', copy);
    must(faults.status === 0 && faults.output === '', `${unit}:\n${faults.output}`);
    const wrong = text.replaceAll(COMMAND, stub).replace('ProtectHome=yes', 'ProtectHome=perhaps');
    writeFileSync(copy, wrong);
    must(analyze('verify', '--man=no', copy).output.includes('perhaps'), 'a wrong value is not noticed');
    const { status, output } = analyze('security', '--offline=yes', `--threshold=${threshold}`, join(ROOT, unit));
    const level = /exposure level for \S+ (\S+)/.exec(output)?.[1];
    must(status === 0 && level !== undefined, `${unit} is exposed:\n${output}`);
    console.log(`${unit}: verified, exposure ${level}`);
  }
} finally {
  rmSync(work, { recursive: true });
}

function analyze(...args: string[]): { status: number | null; output: string } {
  const { status, stdout, stderr, error } = spawnSync('systemd-analyze', args, { encoding: 'utf8' });
  if (error !== undefined) throw error;
  return { status, output: stdout + stderr };
}
