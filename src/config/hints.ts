/** Suggestions for variables that are almost, but not quite, a known one. */

import leven, { closestMatch } from 'leven';
import { KEYS } from './keys.ts';
import { fileVariables, isUnreadFile } from './secrets.ts';

/** Read by the command line, and by Node.js programs of every kind. */
const FURTHER = ['USHER_CONFIG', 'USHER_URL', 'USHER_TOKEN', 'USHER_API_KEY', 'NODE_ENV'];
const VARIABLES: readonly string[] = [
  ...Object.values(KEYS).map(({ variable }) => variable),
  ...fileVariables(),
  ...FURTHER,
];
/** In a shorter name, two different letters usually make a different word. */
const LONG_NAME = 10;

/** A warning for each environment variable that is one or two letters away from a known one, or names a file that is not read. */
export function misspelledVariables(env: Readonly<Record<string, string | undefined>>): string[] {
  return Object.keys(env).flatMap((name) => {
    if (env[name] === undefined || VARIABLES.includes(name)) return [];
    if (isUnreadFile(name)) return [`${name} has no effect: only secrets are read from files`];
    const meant = closestMatch(name, VARIABLES, { maxDistance: 2 });
    return meant !== undefined && isMisspelling(name, meant) ? [`${name} is not known; did you mean ${meant}?`] : [];
  });
}

function isMisspelling(name: string, meant: string): boolean {
  const distance = leven(name, meant);
  return distance <= 1 || (distance === 2 && (meant.length >= LONG_NAME || isTwisted(name, meant)));
}

/** Two letters that changed places count as two. */
function isTwisted(name: string, meant: string): boolean {
  return name.length === meant.length && letters(name) === letters(meant);
}

function letters(name: string): string {
  return Array.from(name).toSorted().join('');
}
