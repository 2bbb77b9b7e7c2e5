import type { ConfigCheck } from '../config/config.ts';
import { pushKeyFaults } from '../delivery/p256.ts';
import { pushSubjectFaults } from '../delivery/push-subject.ts';
import { apiKeyFaults } from '../identity/api-keys.ts';

/** Checks of keys whose grammar belongs to a feature. */
export const CONFIG_CHECKS: readonly ConfigCheck[] = [apiKeyFaults, pushKeyFaults, pushSubjectFaults];
