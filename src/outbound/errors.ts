/** Why a request that left, or was to leave, has no response. */

export type OutboundReason =
  /** Not a URL, not http(s), with credentials, or a scheme or port that the policy forbids. Nothing was sent. */
  | 'refused_url'
  /** An address of the name, or every one, is outside the policy's reach. Nothing was sent. */
  | 'refused_address'
  /** The proxy wants other credentials, or does not let this request pass. */
  | 'proxy_refused'
  | 'unreachable'
  | 'timeout'
  | 'too_large'
  | 'redirected'
  /** Compressed although the request forbids it, or not HTTP. */
  | 'bad_response'
  | 'not_json'
  | 'aborted';

/** Why there is no response. The message contains no part of the URL, which may hold a user's secret, and no credentials. */
export class OutboundError extends Error {
  readonly reason: OutboundReason;
  constructor(reason: OutboundReason, message: string, cause?: unknown) {
    super(message, cause === undefined ? undefined : { cause });
    this.name = 'OutboundError';
    this.reason = reason;
  }
}
