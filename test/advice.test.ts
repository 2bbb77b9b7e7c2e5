import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, test } from '@jest/globals';
import { openApiDocument } from '../src/gateway/openapi/document.ts';
import { gatewayRoutes } from '../src/gateway/routes.ts';

/** What callers are advised to do with an error, wherever they may read it: two advices would be worse than none. */

const ROOT = join(import.meta.dirname, '..');

/** Running text: without the marks of comments and Markdown, and without line breaks. */
function prose(text: string): string {
  return text
    .replace(/^\s*(?:\/\/|\/?\*+|#+|-)\s?/gm, ' ')
    .replace(/[`*]/g, '')
    .replace(/\s+/g, ' ');
}

function read(path: string): string {
  return prose(readFileSync(join(ROOT, path), 'utf8'));
}

const OPENAPI = prose(
  JSON.stringify(await openApiDocument(gatewayRoutes({ production: false }), '1.0.0')).replaceAll('\\n', ' '),
);

const PLACES: readonly [string, string][] = [
  ['the OpenAPI document', OPENAPI],
  ...[
    'README.md',
    'docs/reliability.md',
    'docs/operations/observe.md',
    'docs/guides/frontend.md',
    'proto/usher/permission/v1/permission.proto',
    'examples/clients/README.md',
    'src/gen/usher/permission/v1/permission_pb.ts',
  ].map((path): [string, string] => [path, read(path)]),
];

describe.each(PLACES)('%s', (_, text) => {
  test('the document advises to treat errors as denials and to retry only UNAVAILABLE', () => {
    expect(text).toMatch(/an error is not an answer/i);
    expect(text).toMatch(
      /(?:treats? the (?:person|user) as denied|den(?:y|ied)\b.*for this request|for this request.*\bdenied)/i,
    );
    expect(text).toMatch(/retr(?:y|ied|ies).{0,60}(?:UNAVAILABLE|503)|503.{0,20}retry|UNAVAILABLE.{0,160}retry/i);
  });
});

test('no document advises ignoring a denial, or retrying any other error', () => {
  const documents = ['docs', 'docs/guides', 'docs/operations', 'examples/clients'].flatMap((folder) =>
    readdirSync(join(ROOT, folder))
      .filter((name) => name.endsWith('.md'))
      .map((name) => read(`${folder}/${name}`)),
  );
  for (const text of [...documents, ...PLACES.map(([, place]) => place)]) {
    expect(text).not.toMatch(/never read it as .?denied|not a denial|is no denial/i);
  }
});

test.each([
  'clients/typescript/src/connection.ts',
  'clients/python/src/usher_client/_wire.py',
  'clients/go/client.go',
  'clients/java/src/main/java/io/github/usherservice/client/Connection.java',
])('%s retries UNAVAILABLE and nothing else', (path) => {
  const [, codes = ''] = /retryableStatusCodes\W+(?:List\.of\()?([^\])]*)/.exec(read(path)) ?? [];
  expect(codes.match(/[A-Z_]{3,}/g)).toEqual(['UNAVAILABLE']);
});

test('no document uses the bare npm name, which belongs to someone else', () => {
  const folders = readdirSync(ROOT, { withFileTypes: true }).filter(
    ({ name }) => !['node_modules', '.git'].includes(name),
  );
  const everywhere = folders
    .flatMap((entry) =>
      entry.isDirectory()
        ? readdirSync(join(ROOT, entry.name), { recursive: true, encoding: 'utf8' }).map((path) =>
            join(entry.name, path),
          )
        : [entry.name],
    )
    .filter(
      (path) =>
        !/(?:^|\/)(?:node_modules|\.git|dist|\.usher|gen)(?:\/|$)/.test(path) &&
        /\.(?:md|ts|js|mjs|ya?ml|json|sh|proto|py|go|java)$/.test(path),
    );
  expect(everywhere.length).toBeGreaterThan(400);
  const bare =
    /\b(?:npx|npm (?:i|install|exec)(?: -\S+| --\S+)*|pnpm dlx|yarn dlx|bunx) (?:--yes |-y )?usher\b(?!-service)/;
  const wrong = everywhere.filter(
    (path) => path !== 'test/advice.test.ts' && bare.test(readFileSync(join(ROOT, path), 'utf8')),
  );
  expect(wrong).toEqual([]);
});
