import { once } from 'node:events';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { join } from 'node:path';
import { gunzipSync } from 'node:zlib';

/** A receiver of traces, as OpenTelemetry's collectors are (OTLP over HTTP, in JSON), on loopback. */
export interface Otlp {
  /** For a service that is to send here, by the SDK of examples/tracing. */
  readonly env: Record<string, string>;
  /** What has arrived so far. */
  readonly spans: readonly ReceivedSpan[];
  /** How often something has arrived: also in protobuf, which is not read here. */
  batches(): number;
  /** Waits for a span. */
  find(isWanted: (span: ReceivedSpan) => boolean): Promise<ReceivedSpan>;
  close(): Promise<void>;
}

export interface ReceivedSpan {
  readonly traceId: string;
  readonly spanId: string;
  /** '' for the first of a trace. */
  readonly parentSpanId: string;
  readonly name: string;
  /** 1 internal, 2 server, 3 client, 4 producer, 5 consumer. */
  readonly kind: number;
  readonly ms: number;
  readonly attributes: Readonly<Record<string, unknown>>;
  readonly links: readonly { readonly traceId: string; readonly spanId: string }[];
  /** 0 unset, 1 ok, 2 error. */
  readonly status: number;
  /** As it arrived. */
  readonly text: string;
}

const EXAMPLE = join(import.meta.dirname, '../../examples/tracing/tracing.mjs');
const WAIT_MS = 20_000;

export async function startOtlp(): Promise<Otlp> {
  const spans: ReceivedSpan[] = [];
  let batches = 0;
  const arrived = new EventTarget();
  const server = createServer(async (req, res) => {
    const chunks: Buffer[] = [];
    for await (const chunk of req) chunks.push(chunk as Buffer);
    const body = Buffer.concat(chunks);
    const text = (req.headers['content-encoding'] === 'gzip' ? gunzipSync(body) : body).toString('utf8');
    batches++;
    if (req.headers['content-type'] === 'application/json') spans.push(...read(text));
    res.setHeader('content-type', 'application/json');
    res.end('{}');
    arrived.dispatchEvent(new Event('spans'));
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  const { port } = server.address() as AddressInfo;
  return {
    env: {
      NODE_OPTIONS: `--import ${EXAMPLE}`,
      OTEL_EXPORTER_OTLP_ENDPOINT: `http://127.0.0.1:${port}`,
      OTEL_EXPORTER_OTLP_PROTOCOL: 'http/json',
      OTEL_BSP_SCHEDULE_DELAY: '100',
    },
    spans,
    batches: () => batches,
    async find(isWanted) {
      const late = AbortSignal.timeout(WAIT_MS);
      for (;;) {
        const found = spans.find(isWanted);
        if (found !== undefined) return found;
        if (late.aborted) throw new Error(`no such span among: ${spans.map(({ name }) => name).join(', ')}`);
        const next = new AbortController();
        const end = (): void => next.abort();
        arrived.addEventListener('spans', end, { signal: next.signal });
        late.addEventListener('abort', end, { signal: next.signal });
        await once(next.signal, 'abort');
      }
    },
    async close() {
      server.closeAllConnections();
      server.close();
      await once(server, 'close');
    },
  };
}

interface Wire {
  resourceSpans: { scopeSpans: { spans: WireSpan[] }[] }[];
}

interface WireSpan {
  traceId: string;
  spanId: string;
  parentSpanId?: string;
  name: string;
  kind: number;
  startTimeUnixNano: string;
  endTimeUnixNano: string;
  attributes: { key: string; value: Record<string, unknown> }[];
  links?: { traceId: string; spanId: string }[];
  status: { code?: number };
}

function read(text: string): ReceivedSpan[] {
  const { resourceSpans } = JSON.parse(text) as Wire;
  return resourceSpans
    .flatMap(({ scopeSpans }) => scopeSpans.flatMap((scope) => scope.spans))
    .map((span) => ({
      traceId: span.traceId,
      spanId: span.spanId,
      parentSpanId: span.parentSpanId ?? '',
      name: span.name,
      kind: span.kind,
      ms: Number(BigInt(span.endTimeUnixNano) - BigInt(span.startTimeUnixNano)) / 1e6,
      attributes: Object.fromEntries(span.attributes.map(({ key, value }) => [key, Object.values(value)[0]])),
      links: span.links ?? [],
      status: span.status.code ?? 0,
      text: JSON.stringify(span),
    }));
}
