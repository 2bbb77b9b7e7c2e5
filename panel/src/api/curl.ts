/** A request as a command for a shell. The token stays out of it. */

import type { RequestRecord } from './call.ts';

export function curlOf(record: Pick<RequestRecord, 'method' | 'url' | 'body' | 'headers'>, origin: string): string {
  const lines = [
    `curl -sS -X ${record.method} ${quoted(origin + record.url)}`,
    '  -H "authorization: Bearer $TOKEN"',
    ...Object.entries(record.headers).map(([name, value]) => `  -H ${quoted(`${name}: ${value}`)}`),
    ...(record.body === null ? [] : [`  --data-raw ${quoted(record.body)}`]),
  ];
  return lines.join(' \\\n');
}

/** As one word of a POSIX shell. curl would read a file for `-d @name`, so bodies go by `--data-raw`. */
function quoted(text: string): string {
  return `'${text.replaceAll("'", "'\\''")}'`;
}
