/** What is wrong with something that a program passed in: everything at once, before anything is sent. */

import { nearest } from '../../../src/base/nearest.ts';
import { InvalidQuestionError, type Violation } from './errors.ts';

/** The members of an object that a program passes in, and what other names for them are meant to be. */
export interface Shape {
  /** `a question`: for messages. */
  readonly name: string;
  readonly members: readonly string[];
  /** What to do instead, for names that programs use. */
  readonly meant?: Readonly<Record<string, string>> | undefined;
}

export type Members = ReadonlyMap<string, unknown>;

const MOST_NAMED = 8;
const LONGEST = 60;

export class Faults {
  readonly #violations: Violation[] = [];
  #isHalf = true;

  /** `isHalf`: the fault is only that a record lacks its type or its id. */
  add(field: string, message: string, isHalf = false): void {
    if (this.#violations.length < MOST_NAMED) this.#violations.push({ field, message });
    this.#isHalf &&= isHalf;
  }

  throwIfAny(): void {
    if (this.#violations.length > 0) throw this.error();
  }

  /** With the reasons of the service. */
  error(): InvalidQuestionError {
    const said = this.#violations.map(({ field, message }) => `${field}: ${message}`);
    return new InvalidQuestionError(said.join('. '), {
      code: 'INVALID_ARGUMENT',
      reason: this.#isHalf ? 'INCOMPLETE_RESOURCE' : 'VALIDATION_FAILED',
      violations: this.#violations,
    });
  }
}

/** One fault. */
export function malformed(field: string, message: string, cause?: unknown): InvalidQuestionError {
  const violations = [{ field, message }];
  const parts = { code: 'INVALID_ARGUMENT', reason: 'VALIDATION_FAILED', violations, cause };
  return new InvalidQuestionError(`${field}: ${message}`, parts);
}

/**
 * The members of a plain object, each read once: a getter or a Proxy cannot say two things. Null, with a fault, for everything
 * that is not one. A member that is undefined is left out, as in JSON. Unknown members are faults.
 *
 * @param field what the value is called: `question`, `questions[3]`
 * @param path what stands before the names of its members: '', `questions[3].`
 */
export function membersOf(
  value: unknown,
  { name, members, meant = {} }: Shape,
  { field, path }: { readonly field: string; readonly path: string },
  faults: Faults,
): Members | null {
  const form = `{${members.join(', ')}}`;
  if (!isPlain(value)) {
    faults.add(field, `must be a plain object ${form}, not ${kindOf(value)}`);
    return null;
  }
  const found = new Map<string, unknown>();
  for (const written of Object.keys(value)) {
    if (members.includes(written)) {
      const held: unknown = Reflect.get(value, written);
      if (held !== undefined) found.set(written, held);
      continue;
    }
    const advice = Object.hasOwn(meant, written) ? meant[written] : adviceFor(written, name, members);
    faults.add(path + shortened(written), `unknown member; ${advice}`);
  }
  return found;
}

function adviceFor(written: string, name: string, members: readonly string[]): string {
  const near = nearest(written, members);
  return near === null ? `${name} has ${members.join(', ')}` : `did you mean ${near}?`;
}

/** Made by `{}`, `Object.create(null)` or JSON, in this realm or in another. */
export function isPlain(value: unknown): value is object {
  if (typeof value !== 'object' || value === null) return false;
  const prototype = Object.getPrototypeOf(value) as object | null;
  if (prototype === Object.prototype) return true;
  if (prototype === null) return !Array.isArray(value);
  return Object.getPrototypeOf(prototype) === null && Object.hasOwn(prototype, 'isPrototypeOf');
}

/** Never the value itself: it may be an address. */
export function kindOf(value: unknown): string {
  if (value === null) return 'null';
  if (Array.isArray(value)) return 'an array';
  if (typeof value === 'object') {
    const name: unknown = value.constructor?.name;
    return typeof name === 'string' && name !== '' && name !== 'Object'
      ? `an instance of ${shortened(name)}`
      : 'an object';
  }
  return typeof value === 'undefined' ? 'undefined' : `a ${typeof value}`;
}

export function shortened(text: string): string {
  return text.length > LONGEST ? `${text.slice(0, LONGEST)}…` : text;
}

/** The text of a member that must be there. */
export function requiredText(members: Members, name: string, path: string, faults: Faults, isHalf = false): string {
  if (members.has(name)) return textOf(members.get(name), path + name, faults, isHalf);
  faults.add(path + name, 'is required', isHalf);
  return '';
}

/** The text of a member that may be left out; null where it is. */
export function optionalText(members: Members, name: string, path: string, faults: Faults): string | null {
  return members.has(name) ? textOf(members.get(name), path + name, faults) : null;
}

/** A text that is not empty, and arrives as it is: a lone surrogate would become another character on the wire. */
export function textOf(value: unknown, field: string, faults: Faults, isHalf = false): string {
  if (typeof value !== 'string') faults.add(field, `must be a string, not ${kindOf(value)}`);
  else if (value === '') faults.add(field, 'must not be empty', isHalf);
  else if (!value.isWellFormed()) faults.add(field, 'must not hold lone surrogates');
  else return value;
  return '';
}
