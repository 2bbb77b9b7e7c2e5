/** What became of a mutant: only a test that passes without it, and says something of the service, has noticed it. */
export interface Verdict {
  readonly kind: 'killed' | 'survived' | 'late' | 'broken';
  /** The tests that noticed it, with their file; for the others, what went wrong. */
  readonly by: readonly string[];
  /** What the first of them said. */
  readonly why?: string;
}

/** What jest writes with `--json`, as far as it is read here. */
export interface JestReport {
  readonly testResults: readonly {
    readonly message: string;
    readonly assertionResults: readonly {
      readonly status: string;
      readonly fullName: string;
      readonly failureMessages: readonly string[];
    }[];
  }[];
}

/** The mistake is in the spelling, not in what the service does. */
const BROKEN = /^\s*(?:SyntaxError|ReferenceError)\b|Cannot find (?:module|package)/m;
/** Jest's own limit of a test: it waited, and says nothing. */
const LATE = /Exceeded timeout of/;

/** Whether a failure says nothing of the service. */
export const saysNothing = (message: string): boolean => BROKEN.test(message) || LATE.test(message);

const WHY_CHARS = 1000;

/** Judges the run of one file of tests. `passed`: its tests that pass without the mistake. */
export function verdict(file: string, report: JestReport | null, passed: ReadonlySet<string>): Verdict {
  const [result] = report?.testResults ?? [];
  if (result === undefined) return { kind: 'broken', by: [`${file}: jest did not report`] };
  // Nothing of the file ran: jest could not load it, or what it imports.
  if (result.assertionResults.length === 0)
    return { kind: 'broken', by: [`${file}: nothing ran`], why: result.message };
  const failed = result.assertionResults.filter(({ status, fullName }) => status === 'failed' && passed.has(fullName));
  const found = (kind: Verdict['kind'], tests: typeof failed): Verdict => ({
    kind,
    by: tests.map(({ fullName }) => `${file}: ${fullName}`),
    why: (tests[0]?.failureMessages ?? []).join('\n').slice(0, WHY_CHARS),
  });
  const says = (pattern: RegExp) => (test: (typeof failed)[number]) =>
    test.failureMessages.every((message) => pattern.test(message));
  const late = failed.filter(says(LATE));
  const broken = failed.filter(says(BROKEN));
  const told = failed.filter((test) => !late.includes(test) && !broken.includes(test));
  if (told.length > 0) return found('killed', told);
  if (broken.length > 0) return found('broken', broken);
  return late.length > 0 ? found('late', late) : { kind: 'survived', by: [] };
}
