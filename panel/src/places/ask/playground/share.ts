/** A playground as a link: text and question in the fragment, compressed. A fragment never reaches a server. */

import { NO_QUESTION, type Question } from '../question.ts';

export interface Shared {
  readonly text: string;
  readonly question: Question;
}

/** A link that unpacks to more is not a playground's. */
const MAX_CHARACTERS = 2_000_000;

/** `#1.…`: the version of the form, then raw DEFLATE of JSON in base64url. */
export async function packed(shared: Shared): Promise<string> {
  const bytes = new TextEncoder().encode(JSON.stringify(shared));
  const stream = new Blob([bytes]).stream().pipeThrough(new CompressionStream('deflate-raw'));
  return `#1.${base64url(new Uint8Array(await new Response(stream).arrayBuffer()))}`;
}

/** Null for a fragment that is not a playground, or is damaged. */
export async function unpacked(fragment: string): Promise<Shared | null> {
  if (!fragment.startsWith('#1.')) return null;
  try {
    const bytes = fromBase64url(fragment.slice(3));
    const stream = new Blob([bytes]).stream().pipeThrough(new DecompressionStream('deflate-raw'));
    const value: unknown = JSON.parse(await readBounded(stream));
    return sharedIn(value);
  } catch {
    // A link that was cut while it was copied.
    return null;
  }
}

async function readBounded(stream: ReadableStream<Uint8Array>): Promise<string> {
  const decoder = new TextDecoder();
  let text = '';
  for await (const chunk of stream) {
    text += decoder.decode(chunk, { stream: true });
    if (text.length > MAX_CHARACTERS) throw new Error('too long for a playground');
  }
  return text + decoder.decode();
}

function sharedIn(value: unknown): Shared | null {
  if (typeof value !== 'object' || value === null || !('text' in value) || typeof value.text !== 'string') return null;
  const given: unknown = 'question' in value ? value.question : null;
  const entries = Object.keys(NO_QUESTION).map((name) => {
    const part: unknown = typeof given === 'object' && given !== null ? Reflect.get(given, name) : null;
    return [name, typeof part === 'string' ? part : ''];
  });
  return { text: value.text, question: Object.fromEntries(entries) as Question };
}

function base64url(bytes: Uint8Array): string {
  let text = '';
  for (const byte of bytes) text += String.fromCharCode(byte);
  return btoa(text).replaceAll('+', '-').replaceAll('/', '_').replace(/=+$/, '');
}

function fromBase64url(text: string): Uint8Array<ArrayBuffer> {
  const binary = atob(text.replaceAll('-', '+').replaceAll('_', '/'));
  return Uint8Array.from(binary, (character) => character.charCodeAt(0));
}
