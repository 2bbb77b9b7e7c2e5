/** One line of `usher doctor`. */
export interface Finding {
  readonly check: string;
  readonly result: 'ok' | 'warning' | 'failed';
  /** What was found. Never a secret. */
  readonly found: string;
  /** What to do; null where nothing is to be done. */
  readonly advice: string | null;
}

/** The findings of one part, by its name. */
export class Findings {
  readonly #check: string;
  readonly list: Finding[] = [];

  constructor(check: string) {
    this.#check = check;
  }

  ok(found: string): void {
    this.list.push({ check: this.#check, result: 'ok', found, advice: null });
  }

  warn(found: string, advice: string): void {
    this.list.push({ check: this.#check, result: 'warning', found, advice });
  }

  fail(found: string, advice: string): void {
    this.list.push({ check: this.#check, result: 'failed', found, advice });
  }
}
