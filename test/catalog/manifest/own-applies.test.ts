import { describe, expect, test } from '@jest/globals';
import { OwnApplies } from '../../../src/catalog/manifest/own.ts';

describe('manifests by administrators at once', () => {
  test('a person has two under way and all have four, and each that ends makes room', async () => {
    const applies = new OwnApplies();
    const begin = (email: string) => {
      const { promise, resolve } = Promise.withResolvers<void>();
      return { end: resolve, done: applies.run(email, () => promise) };
    };
    const [first, second] = [begin('a'), begin('a')];
    await expect(begin('a').done).rejects.toMatchObject({ code: 'RATE_LIMITED' });
    const others = [begin('b'), begin('c')];
    await expect(begin('d').done).rejects.toMatchObject({ code: 'UNAVAILABLE' });
    first.end();
    await first.done;
    const third = begin('a');
    for (const one of [second, third, ...others]) one.end();
    await Promise.all([second, third, ...others].map(({ done }) => done));
    await expect(applies.run('a', () => Promise.reject(new Error('x')))).rejects.toThrow('x');
    await applies.run('a', () => applies.run('a', async () => 1));
  });
});
