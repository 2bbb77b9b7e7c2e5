import { createHmac } from 'node:crypto';
import { UsherError } from '../../src/base/errors.ts';
import { createTokens, type Tokens, type TokensOptions } from '../../src/identity/tokens.ts';
import { createOutbound } from '../../src/outbound/outbound.ts';
import { AUTH } from '../support/auth.ts';
import { AUDIENCE, type OidcDouble } from '../support/oidc.ts';
import { ManualClock } from './manual-clock.ts';

export interface Harness {
  tokens: Tokens;
  clock: ManualClock;
  warnings: string[];
  close(): Promise<void>;
}

/** Tokens that believe in the double, with a clock of their own. */
export function believe(
  oidc: OidcDouble,
  auth: Partial<TokensOptions['auth']> = {},
  options: { maxTokens?: number; speed?: number } = {},
): Harness {
  const { speed = 1, ...rest } = options;
  const clock = new ManualClock({ speed });
  const outbound = createOutbound({ clock, proxy: { proxy: null, noProxy: [] } });
  const warnings: string[] = [];
  const tokens = createTokens({
    auth: {
      ...AUTH,
      issuer: oidc.issuer,
      audience: AUDIENCE,
      ...auth,
    },
    local: null,
    outbound,
    clock,
    log: { warn: (_details, message) => warnings.push(message) },
    ...rest,
  });
  return {
    tokens,
    clock,
    warnings,
    async close() {
      tokens.close();
      await outbound.close();
    },
  };
}

/** `email` of the caller, or `<status> <reason or code>: <message>`. */
export async function outcome(tokens: Tokens, authorization: string | readonly string[] | undefined): Promise<string> {
  try {
    return (await tokens.authenticate(authorization)).email;
  } catch (error) {
    if (!(error instanceof UsherError)) throw error;
    return `${error.httpStatus} ${error.reason ?? error.code}: ${error.message}`;
  }
}

export function part(value: unknown): string {
  return Buffer.from(typeof value === 'string' ? value : JSON.stringify(value)).toString('base64url');
}

/** A JWS by hand, for what no library signs. */
export function rawJws(
  header: unknown,
  payload: unknown,
  sign: (input: string) => Buffer = () => Buffer.alloc(0),
): string {
  const input = `${part(header)}.${part(payload)}`;
  return `${input}.${sign(input).toString('base64url')}`;
}

export const hmac = (secret: string | Buffer) => (input: string) => createHmac('sha256', secret).update(input).digest();
