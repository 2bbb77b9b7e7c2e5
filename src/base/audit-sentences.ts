/** A record of the audit as one sentence that names everything it is about: for the panel and the command line. Pure. */

/** A piece of a sentence; `place` says what it names, null for plain words. */
export interface SentencePiece {
  readonly place: string | null;
  readonly text: string;
}

export interface SentenceWords {
  readonly actions: Readonly<Record<string, string>>;
  readonly sentences: Readonly<Record<string, string>>;
  /** With `{app}`. */
  readonly inApplication: string;
}

export interface ToldRecord {
  readonly action: string;
  readonly appCode: string | null;
  readonly subject: string | null;
  readonly before?: unknown;
  readonly after?: unknown;
}

/**
 * The sentence of a record. `sentences` says by action what stands where: `{subject}`, `{record}`, `{role}`, `{app}`; an action
 * without one is named, and its subject behind it. `ofApplication`: the application need not be named.
 */
export function piecesOf(record: ToldRecord, words: SentenceWords, ofApplication = false): readonly SentencePiece[] {
  const { action } = actionOf(record.action);
  const names = namesIn(record);
  const known = words.sentences[action];
  const isWhole = known !== undefined && placesIn(known).every((place) => names[place] !== undefined);
  const plain = words.actions[action] ?? action;
  const said = isWhole ? known : names.subject === undefined ? plain : `${plain}: {subject}`;
  const rest = placesIn(said);
  const also = [
    ...(rest.includes('record') || names.record === undefined ? [] : [' · {record}']),
    ...(rest.includes('app') || ofApplication || names.app === undefined || names.app === names.subject
      ? []
      : [` ${words.inApplication}`]),
  ];
  return `${said}${also.join('')}`
    .split(/(\{\w+\})/)
    .filter((text) => text !== '')
    .map((text) => {
      const place = /^\{(\w+)\}$/.exec(text)?.[1];
      return place === undefined ? { place: null, text } : { place, text: names[place] ?? '' };
    });
}

/** The action without what says that it was refused. */
export function actionOf(action: string): { action: string; refused: boolean } {
  const refused = action.endsWith('.refused');
  return { action: refused ? action.slice(0, -'.refused'.length) : action, refused };
}

function placesIn(sentence: string): string[] {
  return [...sentence.matchAll(/\{(\w+)\}/g)].map(([, place = '']) => place);
}

export type SentenceNames = Readonly<Record<string, string | undefined>>;

/** What a record is about, by the places of a sentence. */
export function namesIn({ appCode, subject, before, after }: ToldRecord): SentenceNames {
  const fields: Readonly<Record<string, unknown>> = { ...objectOf(before), ...objectOf(after) };
  const { resourceType, resourceId, role } = fields;
  return {
    subject: subject ?? undefined,
    app: appCode ?? undefined,
    role: typeof role === 'string' ? role : undefined,
    record:
      typeof resourceType === 'string' && typeof resourceId === 'string' ? `${resourceType}:${resourceId}` : undefined,
  };
}

function objectOf(side: unknown): object {
  return typeof side === 'object' && side !== null && !Array.isArray(side) ? side : {};
}
