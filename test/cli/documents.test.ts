import { mkdtempSync, readdirSync, readFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, test } from '@jest/globals';
import { parseAllDocuments } from 'yaml';
import { Double, refusal } from './double.ts';
import { usher } from './harness.ts';

const ROOT = join(import.meta.dirname, '../..');
const DOCUMENTS = ['.', 'docs', 'docs/guides', 'docs/operations', 'docs/runbook', 'examples/clients'].flatMap(
  (folder) =>
    readdirSync(join(ROOT, folder))
      .filter((name) => name.endsWith('.md') && name !== 'CHANGELOG.md')
      .map((name) => join(folder, name)),
);

/** The commands in fenced code, and those that a sentence names with its arguments in `…`. */
function commandsIn(text: string): string[] {
  const fenced = [...text.matchAll(/^```\w*\n([\s\S]*?)^```/gm)].flatMap(([, block = '']) => block.split('\n'));
  const lines = fenced.filter((line) => !/^\s*#/.test(line)).map((line) => line.replace(/\s#.*$/, ''));
  return lines.flatMap(
    (line) => line.match(/(?:\busher -- |(?<![\w./@-]|helm \w+ )usher (?=[a-z]+))[^|;>)&`]*/g) ?? [],
  );
}

const double = new Double();
beforeAll(() => double.start());
afterAll(() => double.stop());

describe.each(DOCUMENTS.filter((path) => commandsIn(readFileSync(join(ROOT, path), 'utf8')).length > 0))(
  '%s',
  (path) => {
    test('every command in the document exists, with its options', async () => {
      double.answer = () => refusal(503, 'UNAVAILABLE');
      // The documents write below /tmp; what a reader or the tour left there must not decide what a command answers.
      const empty = mkdtempSync(join(tmpdir(), 'usher-empty-'));
      const env = {
        USHER_URL: double.url,
        XDG_CONFIG_HOME: mkdtempSync(join(tmpdir(), 'usher-config-')),
        DATA_DIR: mkdtempSync(join(tmpdir(), 'usher-data-')),
        DATABASE_URL: 'postgresql://nobody@127.0.0.1:1/nowhere',
      };
      for (const command of commandsIn(readFileSync(join(ROOT, path), 'utf8'))) {
        const text = command
          .replace(/^usher (?:-- )?/, '')
          .replace(/<.*/, '')
          .replaceAll(/https?:\/\/\S+/g, double.url)
          .replaceAll('/tmp/', `${empty}/`);
        if (text.startsWith('()') || text.startsWith('serve')) continue;
        const { code, stderr } = await usher([...text.trim().split(/\s+/), '--json'], { env, stdin: 'text' });
        const failure = code === 0 ? null : (JSON.parse(stderr) as { code: string; message: string });
        expect({ command, wrong: failure?.code === 'USAGE' ? failure.message : null }).toEqual({
          command,
          wrong: null,
        });
      }
    });
  },
);

test('the documents contain commands', () => {
  const found = DOCUMENTS.flatMap((path) => commandsIn(readFileSync(join(ROOT, path), 'utf8')));
  expect(found.length).toBeGreaterThan(40);
  expect(found).toEqual(
    expect.arrayContaining([expect.stringMatching(/^usher -- /), expect.stringMatching(/^usher apply /)]),
  );
});

test("the guide's pipelines are YAML, and plan, apply and detect drift", () => {
  const guide = readFileSync(join(ROOT, 'docs/guides/policies-in-ci.md'), 'utf8');
  const files = [...guide.matchAll(/^```yaml\n([\s\S]*?)^```/gm)].map(([, text = '']) => text);
  expect(files).toHaveLength(2);
  for (const text of files) {
    const [document] = parseAllDocuments(text);
    expect([...(document?.errors ?? []), ...(document?.warnings ?? [])]).toEqual([]);
    const pipeline = JSON.stringify(document);
    for (const step of ['--dry-run', 'apply policies/*.yaml"', '--dry-run --prune']) expect(pipeline).toContain(step);
  }
});
