/** Writing answers of Check, BulkCheck, BatchCheck and Effective, by hand (docs/adr/0003). Fields that hold their default are left out, as in proto3. */

import { isAllowed } from '../../engine/question.ts';
import { type Decision, type EffectiveItem, Level, Source } from '../../engine/types.ts';
import { PermissionType } from '../../gen/usher/permission/v1/permission_pb.ts';

const LEVELS = Level.EDIT + 1;
const SOURCES = Source.APP_ADMIN + 1;

/**
 * Encoded CheckResponses. There are 40 at one revision; each is made at its first use and kept until the revision
 * changes. The buffers are shared: callers must not write to them.
 */
export class CheckAnswers {
  #revision: string | undefined;
  #revisionText = Buffer.alloc(0);
  readonly #ready: (Buffer | undefined)[] = Array.from({ length: 2 * LEVELS * SOURCES });

  get(allowed: boolean, decision: Decision, revision: string): Buffer {
    if (revision !== this.#revision) {
      this.#revision = revision;
      this.#revisionText = Buffer.from(revision, 'utf8');
      this.#ready.fill(undefined);
    }
    const index = ((allowed ? LEVELS : 0) + decision.level) * SOURCES + decision.source;
    const ready = this.#ready[index];
    if (ready !== undefined) return ready;
    const made = this.#make(allowed, decision);
    this.#ready[index] = made;
    return made;
  }

  #make(allowed: boolean, { level, source }: Decision): Buffer {
    const text = this.#revisionText;
    return Buffer.from([
      ...(allowed ? [0x08, 1] : []),
      ...(level === Level.NONE ? [] : [0x10, level]),
      ...(source === Source.NONE ? [] : [0x18, source]),
      // A revision of this service has far fewer than 128 characters.
      ...(text.length === 0 ? [] : [0x22, text.length, ...text]),
    ]);
  }
}

/**
 * A BulkCheckResponse: `decisions` in the order of `permissions`, each compared with the requested level. The buffer belongs to
 * the caller.
 */
export function writeBulk(
  permissions: readonly string[],
  decisions: readonly Decision[],
  requested: Level,
  revision: string,
): Buffer {
  at = 0;
  for (let index = 0; index < permissions.length; index++) {
    const permission = permissions[index] as string;
    // A missing decision would be a defect of the engine; throwing keeps one permission's answer from passing as another's.
    const decision = decisions[index];
    if (decision === undefined) throw new Error('fewer decisions than permissions');
    reserve(permission.length);
    const inner = openField(0x0a);
    writeText(0x0a, permission);
    if (isAllowed(decision, requested)) writePair(0x10, 1);
    if (decision.level !== Level.NONE) writePair(0x18, decision.level);
    if (decision.source !== Source.NONE) writePair(0x20, decision.source);
    closeField(inner);
  }
  reserve(revision.length);
  if (revision !== '') writeText(0x12, revision);
  return Buffer.from(scratch.subarray(0, at));
}

/** A BatchCheckResponse: `decisions`, each compared with the required level at the same index. The buffer is the caller's. */
export function writeBatch(decisions: readonly Decision[], levels: readonly Level[], revision: string): Buffer {
  at = 0;
  if (decisions.length !== levels.length) throw new Error('other decisions than questions');
  for (let index = 0; index < decisions.length; index++) {
    const decision = decisions[index] as Decision;
    reserve(0);
    const inner = openField(0x0a);
    if (isAllowed(decision, levels[index] as Level)) writePair(0x08, 1);
    if (decision.level !== Level.NONE) writePair(0x10, decision.level);
    if (decision.source !== Source.NONE) writePair(0x18, decision.source);
    closeField(inner);
  }
  reserve(revision.length);
  if (revision !== '') writeText(0x12, revision);
  return Buffer.from(scratch.subarray(0, at));
}

/** An EffectiveResponse. The buffer is the caller's. */
export function writeEffective(items: readonly EffectiveItem[], revision: string): Buffer {
  at = 0;
  for (const { code, tiered, groupName, global, level, granted, source } of items) {
    reserve(code.length + (groupName === null ? 0 : groupName.length));
    const inner = openField(0x0a);
    if (code !== '') writeText(0x0a, code);
    writePair(0x10, tiered ? PermissionType.TIERED : PermissionType.BINARY);
    // An empty group is not the same as none.
    if (groupName !== null) writeText(0x1a, groupName);
    if (global) writePair(0x20, 1);
    if (level !== Level.NONE) writePair(0x28, level);
    if (granted) writePair(0x30, 1);
    if (source !== Source.NONE) writePair(0x38, source);
    closeField(inner);
  }
  reserve(revision.length);
  if (revision !== '') writeText(0x12, revision);
  return Buffer.from(scratch.subarray(0, at));
}

// One scratch for all: nothing here waits, so no two answers are ever written at once. It grows to the largest answer
// and is given back when one was far larger than usual.
const USUAL = 64 * 1024;
let scratch = Buffer.allocUnsafeSlow(USUAL);
let at = 0;

/** Makes room for one line with a text of `units` UTF-16 units: 3 bytes each, and the surrounding bytes. */
function reserve(units: number): void {
  const needed = at + 3 * units + 64;
  if (at === 0 && scratch.length > USUAL && needed <= USUAL) scratch = Buffer.allocUnsafeSlow(USUAL);
  if (needed <= scratch.length) return;
  const larger = Buffer.allocUnsafeSlow(Math.max(needed, 2 * scratch.length));
  scratch.copy(larger, 0, 0, at);
  scratch = larger;
}

function writePair(tag: number, value: number): void {
  scratch[at++] = tag;
  scratch[at++] = value;
}

/** Writes the tag and one byte for the length of the content; returns where the content starts. */
function openField(tag: number): number {
  writePair(tag, 0);
  return at;
}

/** Fills in the length, which is usually below 128; otherwise moves the content to make room for a longer length. */
function closeField(start: number): void {
  const length = at - start;
  if (length < 0x80) {
    scratch[start - 1] = length;
    return;
  }
  const extra = length < 0x4000 ? 1 : 2;
  scratch.copyWithin(start + extra, start, at);
  at += extra;
  writeVarint(start - 1, length);
}

function writeVarint(position: number, value: number): number {
  let rest = value;
  let to = position;
  while (rest >= 0x80) {
    scratch[to++] = (rest & 0x7f) | 0x80;
    rest >>>= 7;
  }
  scratch[to++] = rest;
  return to;
}

function writeText(tag: number, text: string): void {
  const units = text.length;
  const start = at;
  if (units < 0x80) {
    // For the usual permission code this is faster than a call into native code.
    let to = start + 2;
    let unit = 0;
    while (unit < units) {
      const code = text.charCodeAt(unit++);
      if (code >= 0x80) break;
      scratch[to++] = code;
    }
    if (to === start + 2 + units) {
      scratch[start] = tag;
      scratch[start + 1] = units;
      at = to;
      return;
    }
  }
  scratch[start] = tag;
  at = writeVarint(start + 1, Buffer.byteLength(text, 'utf8'));
  at += scratch.write(text, at, 'utf8');
}
