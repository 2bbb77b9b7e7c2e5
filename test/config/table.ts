import { KEYS } from '../../src/config/keys.ts';
import type { Key } from '../../src/config/kinds.ts';
import { fileVariable } from '../../src/config/secrets.ts';

const BEGIN = '<!-- keys: npm run generate -->';
const END = '<!-- /keys -->';

/** A page with its table of keys as the program has them, between the two comments. */
export function withTable(page: string): string {
  const [begin, end] = [page.indexOf(BEGIN), page.indexOf(END)];
  if (begin < 0 || end < begin) throw new Error(`the page has no ${BEGIN} … ${END}`);
  return `${page.slice(0, begin + BEGIN.length)}\n${table()}${page.slice(end)}`;
}

function table(): string {
  const rows = Object.entries<Key<unknown>>(KEYS).map(
    ([name, key]) =>
      `| ${name} | ${[key.variable, fileVariable(key)].filter(Boolean).join(', ')} | ${fallbackOf(key)} | ${key.about} |`,
  );
  return ['', '| key | variable | default | |', '|---|---|---|---|', ...rows, '', ''].join('\n');
}

function fallbackOf({ otherwise, default: fallback }: Key<unknown>): string {
  if (otherwise !== undefined) return otherwise;
  if (typeof fallback === 'function') throw new Error('a default that is made from others is described in words');
  if (fallback === null || (Array.isArray(fallback) && fallback.length === 0)) return 'none';
  return Array.isArray(fallback) ? fallback.join(', ') : JSON.stringify(fallback).replaceAll('"', '');
}
