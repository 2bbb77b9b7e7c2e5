import { describe, expect, test } from '@jest/globals';
import { CONFIG_CHECKS } from '../../src/app/config-checks.ts';
import { ConfigError, toConfig } from '../../src/config/config.ts';
import { KEYS } from '../../src/config/keys.ts';

/** An example in a message passes the rule that the message explains, in production, too (docs/operations/configuration.md). */
const OF_OTHERS = /go together|of no use without|needs /;

function faultsOf(key: string, env: Record<string, string>): string[] {
  try {
    toConfig({ env: { NODE_ENV: 'production', ...env } }, CONFIG_CHECKS);
    return [];
  } catch (error) {
    if (!(error instanceof ConfigError)) throw error;
    return error.faults
      .filter((fault) => fault.key === key)
      .map(({ problem }) => problem)
      .filter((problem) => !OF_OTHERS.test(problem));
  }
}

const EXAMPLES = Object.entries(KEYS).flatMap(([key, row]) => {
  const { variable, schema, example } = row as typeof row & { example?: string };
  const examples = (schema.meta()?.examples ?? []) as readonly string[];
  return [example, ...examples]
    .filter((one) => one !== undefined && !`${one}`.startsWith('the '))
    .map((text) => ({ key, variable, text: `${text}` }));
});

describe('examples of keys', () => {
  test('there are many', () => expect(EXAMPLES.length).toBeGreaterThan(20));

  test.each(EXAMPLES)('$key: $text', ({ key, variable, text }) => {
    expect(faultsOf(key, { [variable]: text })).toEqual([]);
  });

  test('a message about keys of backends shows one that is taken', () => {
    const [problem = ''] = faultsOf('internal.apiKeys', { INTERNAL_API_KEY: 'short' });
    const [, example = ''] = /for example (\S+)$/.exec(problem) ?? [];
    expect(example).toContain('billing:check+notify');
    expect(faultsOf('internal.apiKeys', { INTERNAL_API_KEY: example })).toEqual([]);
  });
});
