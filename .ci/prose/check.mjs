// Reads documents, the comments of the protocol, and the comments and messages of the code: for the habits in habits.yml (textlint)
// and for spelling (cspell, with words.txt).
// Usage: node .ci/prose/check.mjs [--count] [PATH…]. Without paths it reads documents, the protocol and what scope.mjs lists;
// --count prints the findings of each folder as a number.
import { execFileSync, spawnSync } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { dirname } from 'node:path';
import { parse } from '@babel/parser';
import { createLinter, loadTextlintrc } from 'textlint';
import { MENDED } from './scope.mjs';

const here = import.meta.dirname;
const root = dirname(dirname(here));
const args = process.argv.slice(2);
const onlyCount = args.includes('--count');
const named = args.filter((arg) => arg !== '--count');

/** The change log and released migrations are history, generated code repeats the protocol, and some protocol files are other projects'. */
const SKIPPED = /^CHANGELOG\.md$|(?:^|\/)gen\/|^proto\/(?!usher\/)|^src\/persistence\/migrations\/\d/;
const READ = named.length > 0 ? /\.(?:md|proto|ts)$/ : /\.(?:md|proto)$/;
const listed = execFileSync('git', ['ls-files', '-co', '--exclude-standard', ...named], {
  cwd: root,
  encoding: 'utf8',
});
const paths = listed
  .split('\n')
  .filter((path) => READ.test(path) || (path.endsWith('.ts') && MENDED.some((part) => path.startsWith(part))))
  .filter((path) => !SKIPPED.test(path));

const findings = [...(await habits()), ...spelling()];
if (onlyCount) {
  const folders = Object.groupBy(findings, ({ path }) => dirname(path));
  for (const [folder, of] of Object.entries(folders).sort()) console.log(`${folder}: ${of.length}`);
} else for (const { path, text } of findings) console.error(`${path}:${text}`);
console.log(`prose: ${findings.length} findings in ${paths.length} files`);
if (findings.length > 0) process.exit(1);

async function habits() {
  const linter = createLinter({ descriptor: await loadTextlintrc({ configFilePath: `${here}/.textlintrc.json` }) });
  const found = [];
  for (const path of paths) {
    const text = readFileSync(`${root}/${path}`, 'utf8');
    const { messages } = await linter.lintText(toRead(path, text), path.endsWith('.md') ? path : `${path}.txt`);
    for (const { line, column, message } of messages) {
      found.push({ path, text: `${line}:${column} - ${message.replace(' => ', ', instead: ')}` });
    }
  }
  return found;
}

/** cspell takes comments, strings and names out of code itself. */
function spelling() {
  const { stdout, stderr, status } = spawnSync(
    process.execPath,
    [
      `${here}/node_modules/cspell/bin.mjs`,
      ...['lint', '--config', `${here}/cspell.json`, '--no-progress', '--no-summary', '--root', root],
      ...['--file-list', 'stdin'],
    ],
    { cwd: root, input: paths.join('\n'), encoding: 'utf8', maxBuffer: 1 << 28 },
  );
  const found = [...stdout.matchAll(/^([^:\n]+):(\d+:\d+ - .*)$/gm)].map(([, path, text]) => ({ path, text }));
  if (status !== 0 && found.length === 0) throw new Error(`cspell failed: ${stderr}`);
  return found;
}

function toRead(path, text) {
  if (path.endsWith('.md')) return text;
  return onlyThese(text, path.endsWith('.proto') ? commentsOfProtocol(text) : wordsOfCode(text));
}

/** The text with everything else blank, so that lines and columns stay. */
function onlyThese(text, ranges) {
  let out = '';
  let at = 0;
  for (const { start, end } of ranges) {
    out += text.slice(at, start).replaceAll(/[^\n]/g, ' ');
    out += text.slice(start, end).replaceAll(/^( *)\*/gm, '$1 ');
    at = end;
  }
  return out + text.slice(at).replaceAll(/[^\n]/g, ' ');
}

function commentsOfProtocol(text) {
  return [...text.matchAll(/\/\/.*/g)].map(({ index, 0: comment }) => ({
    start: index + 2,
    end: index + comment.length,
  }));
}

/** Comments, and what stands in strings and templates. */
function wordsOfCode(text) {
  const { tokens } = parse(text, { sourceType: 'module', plugins: ['typescript'], tokens: true });
  return tokens.flatMap(({ type, start, end }) => {
    if (type === 'CommentLine') return [{ start: start + 2, end }];
    if (type === 'CommentBlock') return [{ start: start + 2, end: end - 2 }];
    // A piece of a template is labeled by how it ends: ...${ or ...`.
    return type.label === 'string' || /^\.{3}(?:`|\$\{)$/.test(type.label) ? [{ start, end }] : [];
  });
}
