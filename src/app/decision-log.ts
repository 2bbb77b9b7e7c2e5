/** The decision log of a process: opened from the configuration, counted, and closed behind the listeners. */

import type { Clock } from '../base/clock.ts';
import { LineWriter } from '../base/line-writer.ts';
import type { Logger, Registry } from '../base/telemetry.ts';
import { type Config, ConfigError } from '../config/config.ts';
import { Engine } from '../engine/engine.ts';
import type { EngineOptions } from '../engine/options.ts';
import { DecisionLog, LoggedEngine } from '../rpc/decision-log.ts';
import { engineTraces } from './engine-traces.ts';
import { exposeDecisionLog } from './metrics.ts';

interface Parts {
  readonly config: Pick<Config, 'decisionLog'>;
  readonly clock: Clock;
  readonly log: Logger;
  readonly registry: Registry;
  readonly closing: AsyncDisposableStack;
}

/** Null where nothing is to be logged. ConfigError when the file cannot be opened. */
export async function openDecisionLog({ config, clock, log, registry, closing }: Parts): Promise<DecisionLog | null> {
  const { denied, privileged, sample, file } = config.decisionLog;
  if (!denied && !privileged && sample === 0) return null;
  const writer = await openWriter(file, { clock, log });
  closing.defer(() => writer.close());
  exposeDecisionLog(registry, writer);
  return new DecisionLog(config.decisionLog, clock, writer);
}

/** Without a decision log the engine is the one that it always was. */
export function createEngine(given: EngineOptions, decisionLog: DecisionLog | null): Engine {
  const options = { ...given, traces: engineTraces };
  return decisionLog === null ? new Engine(options) : new LoggedEngine(options, decisionLog);
}

async function openWriter(path: string | null, { clock, log }: Pick<Parts, 'clock' | 'log'>): Promise<LineWriter> {
  const words = { failing: 'decision log not written', working: 'decision log written again' };
  return await LineWriter.open({ path, clock, log, ...words }).catch((error: NodeJS.ErrnoException) => {
    const problem = `${path} cannot be opened for appending (${error.code ?? error.name}); for example /var/log/usher/decisions.log`;
    throw new ConfigError([{ key: 'decisionLog.file', variable: 'DECISION_LOG_FILE', problem }]);
  });
}
