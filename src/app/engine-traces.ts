/** Traces of the engine: what its questions wait for, as spans. */

import { inLoad, recordingSpan, type Span, tracer, waiting } from '../base/tracing.ts';
import type { EngineTraces, TracedCaller } from '../engine/traces.ts';

class Recorded implements TracedCaller {
  readonly span: Span;

  constructor(span: Span) {
    this.span = span;
  }

  joined(load: TracedCaller): void {
    if (load instanceof Recorded) this.span.addLink({ context: load.span.spanContext() });
  }
}

const ENGINE_TRACES: EngineTraces = {
  waiting,
  caller() {
    const span = recordingSpan();
    return span === null ? null : new Recorded(span);
  },
  load(needs, callers, read) {
    const spans = callers.flatMap((caller) => (caller instanceof Recorded ? [caller.span] : []));
    return inLoad('load facts', { spans, attributes: { 'usher.needs': needs } }, (load) => {
      const traced = new Recorded(load);
      for (const [place, caller] of callers.entries()) if (place > 0) caller.joined(traced);
      return read(traced);
    });
  },
};

/** Undefined where nothing is traced. */
export const engineTraces: EngineTraces | undefined = tracer === null ? undefined : ENGINE_TRACES;
