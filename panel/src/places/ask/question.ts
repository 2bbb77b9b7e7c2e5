/** A question of the bench: its address, and the forms in which it can be taken elsewhere. */

/** Texts as typed; an empty one is not given. */
export interface Question {
  readonly app: string;
  readonly email: string;
  readonly permission: string;
  readonly resourceType: string;
  readonly resourceId: string;
  readonly level: string;
}

export type LevelName = 'allowed' | 'view' | 'edit';

/** What the service answers, as far as a case of a policy test states it. */
export interface Verdict {
  readonly allowed: boolean;
  readonly accessLevel: LevelName | null;
  readonly source: string | null;
}

/** The parts of the address, in the order of the sentence. */
export const NO_QUESTION: Question = {
  app: '',
  email: '',
  permission: '',
  resourceType: '',
  resourceId: '',
  level: '',
};

/** The question of the demonstration: why can Clara not open project 1042? */
export const DEMO_QUESTION: Question = {
  app: 'atelier',
  email: 'clara@example.com',
  permission: 'project.access',
  resourceType: 'project',
  resourceId: '1042',
  level: '',
};

/** Whether the service can be asked. A half of a record waits for the other. */
export function isComplete({ app, email, permission, resourceType, resourceId }: Question): boolean {
  return app !== '' && email.trim() !== '' && permission !== '' && (resourceType === '') === (resourceId === '');
}

/** Whether the service can be asked who may: that question names nobody. */
export function isCompleteWho({ app, permission, resourceType, resourceId }: Question): boolean {
  return app !== '' && permission !== '' && (resourceType === '') === (resourceId === '');
}

/** The body of a question, without what is not given. */
export function bodyOf({ email, permission, resourceType, resourceId, level }: Question) {
  return {
    email: email.trim(),
    permission,
    ...(resourceType === '' ? {} : { resourceType, resourceId }),
    ...(level === 'view' || level === 'edit' ? { accessLevel: level as 'view' | 'edit' } : {}),
  };
}

/** `project:1042`; empty without a record. */
export function recordOf({ resourceType, resourceId }: Pick<Question, 'resourceType' | 'resourceId'>): string {
  return resourceType === '' || resourceId === '' ? '' : `${resourceType}:${resourceId}`;
}

/** The part of an address behind `?`, empty texts left out. */
export function queryOf(question: Question): string {
  const given = Object.entries(question).filter(([, value]) => value !== '');
  return new URLSearchParams(given).toString();
}

/** The question as a command for a shell. */
export function commandOf(command: 'check' | 'explain', question: Question): string {
  const { email, app, permission, level } = question;
  const record = recordOf(question);
  const words = [email.trim(), app, permission];
  if (record !== '') words.push('--resource', record);
  if (level !== '') words.push('--level', level);
  return `usher ${command} ${words.map(shellWord).join(' ')}`;
}

function shellWord(text: string): string {
  return /^[\w@%+=:,./-]+$/.test(text) ? text : `'${text.replaceAll("'", "'\\''")}'`;
}

/** A case of `usher test` (docs/reference/command-line.md#policy-tests). */
export interface TestCase {
  readonly name?: string;
  readonly email: string;
  readonly permission: string;
  readonly resource?: string;
  readonly level?: 'view' | 'edit';
  readonly expect: 'allowed' | 'denied' | 'view' | 'edit';
  readonly via?: string;
}

/** The question with its present answer as what is expected. */
export function caseOf(question: Question, { allowed, accessLevel, source }: Verdict): TestCase {
  const { email, permission, level } = question;
  const resource = recordOf(question);
  const asked = level === 'view' || level === 'edit';
  const held = accessLevel === 'view' || accessLevel === 'edit' ? accessLevel : 'allowed';
  return {
    email: email.trim(),
    permission,
    ...(resource === '' ? {} : { resource }),
    ...(asked ? { level } : {}),
    expect: allowed ? (asked ? 'allowed' : held) : 'denied',
    via: source ?? 'none',
  };
}

/** One item of `tests:`, indented by two. */
export function yamlOf(test: TestCase): string {
  const lines = Object.entries(test).map(([name, value]) => `${name}: ${yamlText(String(value))}`);
  return `  - ${lines.join('\n    ')}\n`;
}

/** A file that `usher test` reads: `manifest` names the file that the cases are run against. */
export function testFileOf(manifest: string, tests: readonly TestCase[]): string {
  return `manifest: ${yamlText(manifest)}\ntests:\n${tests.map(yamlOf).join('')}`;
}

/** Text that YAML cannot take for anything else stays plain; the rest is in quotes, which YAML reads as JSON does. */
function yamlText(text: string): string {
  const plain = /^[a-z][\w.@-]*$/i.test(text) && !/^(true|false|null|yes|no|on|off)$/i.test(text);
  return plain ? text : JSON.stringify(text);
}
