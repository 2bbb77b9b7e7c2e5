/**
 * Browser, service and database share the cores of the machine. A test that a busy moment made late is tried once more, and the
 * first failure is printed; one that fails twice has failed.
 */
import { jest } from '@jest/globals';

jest.retryTimes(1, { logErrorsBeforeRetry: true });
