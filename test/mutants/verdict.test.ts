import { describe, expect, test } from '@jest/globals';
import { type JestReport, verdict } from './verdict.ts';

type Told = JestReport['testResults'][number]['assertionResults'][number];

const NOTICED = 'Error: expect(received).toBe(expected) // Object.is equality\n\nExpected: 1\nReceived: 2';
const WAITED = 'thrown: "Exceeded timeout of 120000 ms for a test.';
const failed = (fullName: string, ...failureMessages: string[]): Told => ({
  status: 'failed',
  fullName,
  failureMessages,
});
const judged = (assertionResults: readonly Told[], passed: readonly string[] = ['one', 'two', 'three']) =>
  verdict('a/file', { testResults: [{ message: 'Test suite failed to run', assertionResults }] }, new Set(passed));

describe('the verdict on a mutant', () => {
  test('a test that passes without the mistake and fails with it has noticed it', () => {
    const found = judged([failed('one', NOTICED), { status: 'passed', fullName: 'two', failureMessages: [] }]);
    expect(found).toEqual({ kind: 'killed', by: ['a/file: one'], why: NOTICED });
  });

  test('a refusal by the service is noticed, too', () => {
    expect(judged([failed('one', 'PermissionError: The caller has no rights.\n    at src/x.ts:1:1')]).kind).toBe(
      'killed',
    );
  });

  test('a test that fails without the mistake notices nothing', () => {
    expect(judged([failed('one', NOTICED)], ['two'])).toEqual({ kind: 'survived', by: [] });
    expect(judged([{ status: 'passed', fullName: 'one', failureMessages: [] }]).kind).toBe('survived');
  });

  test.each([
    'SyntaxError: Unexpected token',
    'ReferenceError: granted is not defined\n    at src/x.ts:1:1',
    "Cannot find module './gone.ts' from 'src/x.ts'",
  ])('a mistake that leaves no program is not noticed: %s', (message) => {
    expect(judged([failed('one', message)])).toMatchObject({ kind: 'broken', by: ['a/file: one'] });
    expect(judged([failed('one', message), failed('two', NOTICED)])).toMatchObject({
      kind: 'killed',
      by: ['a/file: two'],
    });
  });

  test('a file that cannot be loaded, and a run without a report, notice nothing', () => {
    expect(judged([])).toMatchObject({ kind: 'broken', why: 'Test suite failed to run' });
    expect(verdict('a/file', null, new Set()).kind).toBe('broken');
  });

  test('a test that waited until its limit notices nothing, another one beside it does', () => {
    expect(judged([failed('one', WAITED)])).toMatchObject({ kind: 'late', by: ['a/file: one'] });
    expect(judged([failed('one', WAITED), failed('two', NOTICED)])).toMatchObject({
      kind: 'killed',
      by: ['a/file: two'],
    });
    // Jest adds what fails after a test to that test, which has noticed something then.
    expect(judged([failed('one', NOTICED, WAITED)])).toMatchObject({ kind: 'killed', by: ['a/file: one'] });
  });
});
