/** The commands of a guide, as a shell would read them: `curl` alone, and variables that are set for it. */

export interface Curl {
  readonly method: string;
  readonly url: string;
  readonly headers: Readonly<Record<string, string>>;
  readonly body: string | undefined;
}

/** A line of a block of commands: `NAME=value`, or a call that takes the variables of its time. */
export type Step = { readonly sets: string; readonly value: string } | { readonly line: string };

/** The lines of every fenced block of shell commands, in order. */
export function stepsOf(document: string): Step[] {
  const blocks = [...document.matchAll(/^( *)```sh\n([\s\S]*?)^\1```/gm)].map(([, , block = '']) => block);
  const lines = blocks.flatMap((block) => logicalLines(block.replaceAll('\\\n', ' ')));
  return lines.map((line) => {
    const [, sets, value] = /^([A-Z_]+)=(\S*)/.exec(line) ?? [];
    return sets === undefined || value === undefined ? { line } : { sets, value };
  });
}

/** A text in single quotes may go over several lines. */
function logicalLines(block: string): string[] {
  const lines: string[] = [];
  let open = '';
  for (const line of block.split('\n')) {
    open = open === '' ? line.trim() : `${open}\n${line}`;
    if ((open.match(/'/g) ?? []).length % 2 === 1) continue;
    if (open !== '') lines.push(open);
    open = '';
  }
  return lines;
}

/** Reads `curl`; throws for an option that it does not know, and for a variable without a value. */
export function readCurl(line: string, variables: ReadonlyMap<string, string>): Curl {
  const [command, ...words] = wordsOf(line, variables);
  if (command !== 'curl') throw new Error(`a command that is not curl: ${line}`);
  let method: string | undefined;
  let url = '';
  let body: string | undefined;
  const headers: Record<string, string> = {};
  for (let at = 0; at < words.length; at++) {
    const word = words[at] ?? '';
    if (word === '-s') continue;
    if (word === '-X') method = words[++at];
    else if (word === '-d') body = words[++at];
    else if (word === '-H') {
      const [, name = '', value = ''] = /^([^:]+): (.*)$/.exec(words[++at] ?? '') ?? [];
      headers[name] = value;
    } else if (word.startsWith('-')) throw new Error(`an option that is not known: ${word}`);
    else url = word;
  }
  return { method: method ?? (body === undefined ? 'GET' : 'POST'), url, headers, body };
}

const WORD = /\s+|#.*$|'([^']*)'|"((?:[^"\\]|\\.)*)"|[^\s'"]+/gy;

function wordsOf(line: string, variables: ReadonlyMap<string, string>): string[] {
  const words: string[] = [];
  let word: string | null = null;
  for (const [text, single, double] of line.matchAll(WORD)) {
    const isSpace = /^\s/.test(text);
    if (isSpace || (word === null && text.startsWith('#'))) {
      if (word !== null) words.push(word);
      word = null;
    } else word = (word ?? '') + (single ?? expanded(double ?? text, variables));
  }
  return word === null ? words : [...words, word];
}

function expanded(text: string, variables: ReadonlyMap<string, string>): string {
  return text.replaceAll(/\\(.)|\$([A-Z_]+)/g, (_, escaped: string | undefined, name: string | undefined) => {
    if (escaped !== undefined) return escaped;
    const value = variables.get(name ?? '');
    if (value === undefined) throw new Error(`the guide does not say what $${name} is`);
    return value;
  });
}
