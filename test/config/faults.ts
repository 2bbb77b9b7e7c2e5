import { ConfigError, type RawConfig, toConfig } from '../../src/config/config.ts';

/** What a configuration is refused for, by key; empty for one that is taken. */
export function faultsOf(raw: RawConfig): Record<string, string> {
  try {
    toConfig(raw);
  } catch (error) {
    if (error instanceof ConfigError)
      return Object.fromEntries(error.faults.map((fault) => [fault.key, fault.problem]));
    throw error;
  }
  return {};
}
