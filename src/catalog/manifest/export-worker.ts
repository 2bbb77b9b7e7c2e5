/** Writes an export in a thread of its own, which can be ended with its caller. It gets the rows as they are read. */

import { parentPort, workerData } from 'node:worker_threads';
import { writeManifest } from './export.ts';
import type { ExportFormat, ExportPiece } from './exporting.ts';
import { Gathered } from './gathered.ts';
import type { Catalog } from './state.ts';

interface Given {
  readonly catalog: Catalog & { application: NonNullable<Catalog['application']> };
  readonly format: ExportFormat;
  readonly schemaUrl: string | null;
}

const { catalog, format, schemaUrl } = workerData as Given;
const people = new Gathered();
parentPort?.on('message', (piece: ExportPiece | 'end') => {
  if (piece !== 'end') people.take(piece);
  else {
    void writeManifest(catalog, people, { format, schemaUrl }).then((text) => {
      const bytes = new TextEncoder().encode(text);
      parentPort?.postMessage(bytes, [bytes.buffer]);
    });
  }
});
