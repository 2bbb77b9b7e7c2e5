/** Examples in messages that pass the rules which they explain. */

/** Of an entry of `internal.apiKeys`, as production takes it. */
export const API_KEY_EXAMPLE = 'billing:check+notify@billing:a-random-text-of-24-characters-or-more';
/** Of a key alone. */
export const KEY_EXAMPLE = 'a-random-text-of-24-characters-or-more';
