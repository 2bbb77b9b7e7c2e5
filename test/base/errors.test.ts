import { describe, expect, test } from '@jest/globals';
import { ERROR_TABLE, GrpcStatus, toUsherError, UsherError, validationFailed } from '../../src/base/errors.ts';

describe('UsherError', () => {
  test('a reason determines code, statuses and details.code', () => {
    const error = new UsherError('INCOMPLETE_RESOURCE', 'Send both or neither.');
    expect(error).toMatchObject({
      code: 'BAD_REQUEST',
      reason: 'INCOMPLETE_RESOURCE',
      httpStatus: 400,
      grpcStatus: GrpcStatus.INVALID_ARGUMENT,
    });
    expect(error.details).toEqual({ code: 'INCOMPLETE_RESOURCE' });
    expect(error.retryAfter).toBeUndefined();
  });

  test('a code without a reason has no details, and 429 and 503 always have Retry-After', () => {
    expect(new UsherError('NOT_FOUND', 'No such role.').details).toBeUndefined();
    expect(new UsherError('UNAVAILABLE', 'Away.').retryAfter).toBe(1);
    expect(new UsherError('RATE_LIMITED', 'Slow down.', { retryAfter: 7 }).retryAfter).toBe(7);
    expect(new UsherError('OUTCOME_UNKNOWN', 'Ask again.')).toMatchObject({ httpStatus: 503, retryAfter: 1 });
  });

  test('an unknown error becomes a bare INTERNAL, and its message stays hidden', () => {
    const error = toUsherError(new Error('select * from person'));
    expect(error).toMatchObject({ code: 'INTERNAL', httpStatus: 500, grpcStatus: GrpcStatus.INTERNAL });
    expect(error.message).not.toContain('select');
    expect(toUsherError(error)).toBe(error);
  });

  test('a validation error gives the first field and counts the rest', () => {
    const error = validationFailed([
      { path: 'app', message: 'is required' },
      { path: 'permission', message: 'is required' },
    ]);
    expect(error.message).toBe('app: is required (and 1 more)');
    expect(error.details).toMatchObject({
      code: 'VALIDATION_FAILED',
      issues: [{ path: 'app' }, { path: 'permission' }],
    });
  });

  test('codes and reasons are upper snake case, and no reason hides a code with another status', () => {
    const names = [...Object.keys(ERROR_TABLE.codes), ...Object.keys(ERROR_TABLE.reasons)];
    expect(names.every((name) => /^[A-Z][A-Z_]+$/.test(name))).toBe(true);
    expect(Object.keys(ERROR_TABLE.reasons).filter((name) => name in ERROR_TABLE.codes)).toEqual([]);
  });
});
