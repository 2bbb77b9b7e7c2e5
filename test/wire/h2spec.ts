/**
 * Runs h2spec (github.com/summerwind/h2spec), the conformance tests of HTTP/2 and HPACK, against the gRPC port of a service,
 * in cleartext and over TLS, and prints what fails:
 *
 *   go install github.com/summerwind/h2spec/cmd/h2spec@latest
 *   bin/node test/wire/h2spec.ts            H2SPEC names the program where it is not in PATH; GRPC_FRONT is handed on
 *   bin/node test/wire/h2spec.ts --port HOST:PORT [--tls]
 *
 * Ends with 1 when a case fails that is not in KNOWN for the port as it is configured.
 */
import { execFile } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { parseArgs } from 'node:util';
import { newFolder } from '../cli/harness.ts';
import { openServices } from './services.ts';

const { values } = parseArgs({
  options: { port: { type: 'string' }, tls: { type: 'boolean', default: false } },
});

interface Case {
  readonly name: string;
  /** What it wanted, one of several, and what it got, last. */
  readonly failed: readonly string[] | undefined;
}

/**
 * h2spec asks for `/` without a content type, which a gRPC port answers by 415 without a body. These cases want to see DATA, or
 * a stream that is still open, and no port that answers so can pass them.
 */
const NOT_APPLICABLE: readonly string[] = [
  'generic/2 Sends a WINDOW_UPDATE frame on half-closed (remote) stream',
  'generic/2 Sends a PRIORITY frame on half-closed (remote) stream',
  'http2/5.1.2 Sends HEADERS frames that causes their advertised concurrent stream limit to be exceeded',
];

/** What node:http2 does otherwise than the RFC says, by nghttp2 (Node 24). A port with `grpc.front` has no such list. */
const KNOWN: readonly string[] = [
  'http2/6.1 Sends a DATA frame on the stream that is not in "open" or "half-closed (local)" state',
  'http2/5.1 half closed (remote): Sends a DATA frame',
  'http2/5.1 half closed (remote): Sends a HEADERS frame',
  'http2/5.1 closed: Sends a DATA frame after sending RST_STREAM frame',
  'http2/5.1 closed: Sends a HEADERS frame after sending RST_STREAM frame',
  'http2/5.1 closed: Sends a DATA frame',
  'http2/5.1 closed: Sends a HEADERS frame',
  'http2/5.1.1 Sends stream identifier that is numerically smaller than previous',
  'http2/5.3.1 Sends PRIORITY frame that depend on itself',
  'http2/6.3 Sends a PRIORITY frame with 0x0 stream identifier',
  'http2/6.7 Sends a PING frame with ACK',
  'http2/6.9.1 Sends multiple WINDOW_UPDATE frames increasing the flow control window to above 2^31-1 on a stream',
  'http2/8.1.2.6 Sends a HEADERS frame with the "content-length" header field which does not equal the DATA frame payload length',
];
const CASE = /<testcase package="([^"]*)" classname="([^"]*)"[^>]*>([\s\S]*?)<\/testcase>/g;
const ENTITIES: Readonly<Record<string, string>> = {
  '&#34;': '"',
  '&#39;': "'",
  '&lt;': '<',
  '&gt;': '>',
  '&amp;': '&',
};

/** The report is not well-formed XML where a case sends control characters. */
function readReport(text: string): Case[] {
  const plain = (escaped: string) =>
    escaped.replaceAll(/&(?:#34|#39|lt|gt|amp);/g, (entity) => ENTITIES[entity] ?? entity);
  return [...text.matchAll(CASE)].map(([, section = '', title = '', rest = '']) => ({
    name: `${section} ${plain(title)}`,
    failed: /<(?:error|failure)>([\s\S]*?)<\//.exec(rest)?.[1]?.split('\n').map(plain),
  }));
}

async function h2spec(host: string, port: string, tls: boolean): Promise<Case[]> {
  const { folder } = newFolder();
  const report = join(folder, 'h2spec.xml');
  const program = process.env.H2SPEC ?? 'h2spec';
  const args = ['--host', host, '--port', port, '--strict', '--timeout', '2', '--junit-report', report];
  const { promise, resolve, reject } = Promise.withResolvers<void>();
  execFile(program, tls ? [...args, '--tls', '--insecure'] : args, { maxBuffer: 2 ** 26 }, (error) => {
    if (error !== null && (error as NodeJS.ErrnoException).code === 'ENOENT') {
      reject(new Error('h2spec is missing: go install github.com/summerwind/h2spec/cmd/h2spec@latest, or set H2SPEC.'));
    } else resolve();
  });
  await promise;
  return readReport(readFileSync(report, 'utf8'));
}

/** Returns how many failures are neither known nor inapplicable. */
function judge(name: string, cases: readonly Case[], known: readonly string[]): number {
  let unexpected = 0;
  for (const { name: title, failed } of cases) {
    if (failed === undefined) continue;
    const verdict = NOT_APPLICABLE.includes(title) ? 'not applicable' : known.includes(title) ? 'known' : 'FAILED';
    if (verdict === 'FAILED') unexpected++;
    process.stdout.write(
      `${verdict.padEnd(14)} ${title}: wanted ${failed.slice(0, -1).join(' or ')}, got ${failed.at(-1)}\n`,
    );
  }
  const failed = cases.filter((one) => one.failed !== undefined).length;
  process.stdout.write(
    `${name}: ${cases.length} cases, ${cases.length - failed} passed, ${failed} failed, ${unexpected} of them unexpectedly\n`,
  );
  if (cases.length === 0) throw new Error('h2spec has reported nothing');
  return unexpected;
}

const front = process.env.GRPC_FRONT ?? 'true';
const known = front === 'true' ? [] : KNOWN;
let unexpected = 0;
if (values.port === undefined) {
  const services = await openServices();
  try {
    for (const tls of [false, true]) {
      const { address } = await services.start({ tls, env: { GRPC_FRONT: front } });
      const name = `front ${front}, ${tls ? 'TLS' : 'cleartext'}`;
      unexpected += judge(name, await h2spec(address.host, String(address.port), tls), known);
    }
  } finally {
    await services.remove();
  }
} else {
  const [host = '', port = ''] = values.port.split(':');
  unexpected = judge(values.port, await h2spec(host, port, values.tls), known);
}
process.exit(unexpected === 0 ? 0 : 1);
