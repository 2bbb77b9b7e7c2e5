/**
 * A manifest's text as plain values, and back from a path to its line and column.
 * YAML 1.2 without tags of its own, bounded in nesting and in what aliases may multiply; JSON is read the same way, so
 * that both know positions and refuse a key given twice.
 */

import {
  type Alias,
  type Document,
  isAlias,
  isMap,
  isScalar,
  isSeq,
  LineCounter,
  type Node,
  parseDocument,
  type Scalar,
} from 'yaml';
import { LIMITS } from '../../base/grammar.ts';
import type { Fault, Path, Plain, PlainMap } from './format.ts';
import { locateQuickly, readQuickly } from './quick.ts';

export interface Position {
  line: number;
  column: number;
}

export interface Source {
  /** Undefined when the text could not be read at all. */
  value: Plain | undefined;
  /** What is wrong with the text as YAML. */
  faults: readonly (Fault & { position: Position })[];
  /** The position of what stands at each path, or of the nearest thing above it that is there. */
  locate(paths: readonly Path[]): Position[];
}

/** Values that aliases may add, over all. An honest manifest shares a few lists; a hostile one multiplies. */
const ALIASED_VALUES = 100_000;

/** Reads a text. Never throws for what the text holds. */
export function readSource(text: string): Source {
  const value = readQuickly(text);
  if (value === undefined) return readThoroughly(text);
  return {
    value,
    faults: [],
    locate: (paths) => {
      const position = positionsIn(text);
      return locateQuickly(text, paths).map(position);
    },
  };
}

/** From an offset to its line and column. */
function positionsIn(text: string): (offset: number) => Position {
  const starts = [0];
  for (let at = text.indexOf('\n'); at >= 0; at = text.indexOf('\n', at + 1)) starts.push(at + 1);
  return (offset) => {
    let low = 0;
    for (let high = starts.length; high - low > 1; ) {
      const middle = (low + high) >> 1;
      if ((starts[middle] ?? 0) <= offset) low = middle;
      else high = middle;
    }
    return { line: low + 1, column: offset - (starts[low] ?? 0) + 1 };
  };
}

/** The same with the YAML library alone. */
export function readThoroughly(text: string): Source {
  const lines = new LineCounter();
  const position = (offset: number): Position => {
    const { line, col } = lines.linePos(offset);
    return { line: Math.max(line, 1), column: Math.max(col, 1) };
  };
  let document: Document.Parsed;
  try {
    document = parseDocument(text, {
      lineCounter: lines,
      prettyErrors: false,
      version: '1.2',
      schema: 'core',
      resolveKnownTags: false,
      merge: false,
      stringKeys: true,
      // Checked below with a set: the library compares each key with every other.
      uniqueKeys: false,
      // `silent` would pass over a second document.
      logLevel: 'error',
    });
  } catch (error) {
    if (!(error instanceof RangeError)) throw error;
    const fault = { path: [], message: `is nested deeper than ${LIMITS.jsonNesting} levels`, position: position(0) };
    return { value: undefined, faults: [fault], locate: (paths) => paths.map(() => position(0)) };
  }
  const problems = [...document.errors, ...document.warnings].map((problem) => ({
    path: [],
    message: sentence(problem.message),
    position: position(problem.pos[0]),
  }));
  const version = document.directives.yaml;
  if (version.explicit && version.version !== '1.2') {
    problems.push({ path: [], message: 'is read as YAML 1.2; leave the %YAML directive out', position: position(0) });
  }
  const reader = new Reader(position);
  const value = problems.length === 0 && document.contents ? reader.read(document.contents, [], 0) : null;
  return {
    value: problems.length > 0 || reader.tooMuch ? undefined : value,
    faults: [...problems, ...reader.faults],
    locate: (paths) => paths.map((path) => position(offsetOf(document, path, reader.targets))),
  };
}

class Reader {
  readonly faults: (Fault & { position: Position })[] = [];
  /** Set when reading was given up, so that no value may be trusted. */
  tooMuch = false;
  /** What each alias stands for. The library's own look-up walks the whole document each time. */
  readonly targets = new Map<Alias, Node>();
  readonly #anchors = new Map<string, Node>();
  readonly #position: (offset: number) => Position;
  #aliasDepth = 0;
  #aliased = 0;

  constructor(position: (offset: number) => Position) {
    this.#position = position;
  }

  read(node: Node, path: Path, depth: number): Plain {
    if (this.tooMuch) return null;
    if (this.#aliasDepth > 0 && ++this.#aliased > ALIASED_VALUES) return this.#giveUp(node, 'has too many aliases');
    if (depth > LIMITS.jsonNesting) return this.#giveUp(node, `is nested deeper than ${LIMITS.jsonNesting} levels`);
    if (isAlias(node)) {
      const target = this.targets.get(node) ?? this.#anchors.get(node.source);
      if (!target) return this.#giveUp(node, `the anchor *${node.source} is not defined before this line`);
      this.targets.set(node, target);
      this.#aliasDepth++;
      const value = this.read(target, path, depth + 1);
      this.#aliasDepth--;
      return value;
    }
    if (node.anchor && this.#aliasDepth === 0) this.#anchors.set(node.anchor, node);
    if (isSeq<Node>(node)) return node.items.map((item, at) => this.read(item, [...path, at], depth + 1));
    if (isMap<Scalar<string>, Node | null>(node)) return this.#readMap(node.items, path, depth);
    return isScalar(node) ? this.#readScalar(node, path) : null;
  }

  #readMap(items: readonly { key: Scalar<string>; value: Node | null }[], path: Path, depth: number): PlainMap {
    const map: Record<string, Plain> = Object.create(null);
    for (const { key, value } of items) {
      const name = String(key.value);
      if (name in map) this.#fault(key, [...path, name], 'is given twice');
      map[name] = value === null ? null : this.read(value, [...path, name], depth + 1);
    }
    return map;
  }

  #readScalar(node: Scalar, path: Path): Plain {
    const { value } = node;
    if (typeof value === 'number' && (!Number.isFinite(value) || Math.abs(value) > Number.MAX_SAFE_INTEGER)) {
      this.#fault(node, path, 'is a number that cannot be kept exactly; put it in quotes');
      return null;
    }
    if (value === null || typeof value === 'string' || typeof value === 'number' || typeof value === 'boolean') {
      return value;
    }
    this.#fault(node, path, 'is neither text, number, boolean nor null');
    return null;
  }

  #fault(node: Node, path: Path, message: string): void {
    this.faults.push({ path, message, position: this.#position(node.range?.[0] ?? 0) });
  }

  #giveUp(node: Node, message: string): null {
    this.#fault(node, [], message);
    this.tooMuch = true;
    return null;
  }
}

/** Where the node at `path` starts; for a key that is there, the key. */
function offsetOf(document: Document.Parsed, path: Path, targets: ReadonlyMap<Alias, Node>): number {
  let node: unknown = document.contents;
  let offset = startOf(node) ?? 0;
  for (const step of path) {
    if (isAlias(node)) node = targets.get(node);
    if (isMap<Scalar<string>, Node | null>(node)) {
      const pair = node.items.findLast(({ key }) => key.value === step);
      if (pair === undefined) break;
      offset = startOf(pair.key) ?? offset;
      node = pair.value;
    } else if (isSeq<Node>(node) && typeof step === 'number') {
      node = node.items[step];
      offset = startOf(node) ?? offset;
    } else break;
  }
  return offset;
}

function startOf(node: unknown): number | undefined {
  const range = (node as Node | undefined | null)?.range;
  return range ? range[0] : undefined;
}

/** The library's messages as ours: no full stop at the end, the first letter small, no second line. */
function sentence(message: string): string {
  const line = (message.split('\n')[0] ?? message).replace(/[.:]\s*$/, '');
  return line.charAt(0).toLowerCase() + line.slice(1);
}
