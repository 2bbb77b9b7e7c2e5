/** What jest tells a reporter of a run so far; the part of its AggregatedResult that is printed. */
interface Run {
  readonly numTotalTestSuites: number;
  readonly numFailedTestSuites: number;
  readonly numPassedTestSuites: number;
  readonly numPendingTestSuites: number;
  readonly startTime: number;
}

const EVERY_MS = 15_000;

/** Says every quarter of a minute how far a run is, on a terminal and on a pipe, beside jest's own line for each file that ended. */
export default class Progress {
  #said = Date.now();

  onTestFileResult(_test: unknown, _result: unknown, run: Run): void {
    const now = Date.now();
    if (now - this.#said < EVERY_MS) return;
    this.#said = now;
    const ended = run.numPassedTestSuites + run.numFailedTestSuites + run.numPendingTestSuites;
    const seconds = Math.round((now - run.startTime) / 1000);
    const failed = run.numFailedTestSuites === 0 ? '' : `, ${run.numFailedTestSuites} failed`;
    process.stderr.write(`-- ${ended} of ${run.numTotalTestSuites} files, ${seconds} s${failed}\n`);
  }
}
