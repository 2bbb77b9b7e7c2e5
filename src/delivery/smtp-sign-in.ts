/**
 * Signing in at a mail server by an access token (docs/reference/brands.md#smtp-by-oauth-20): XOAUTH2 where the server offers it, else OAUTHBEARER (RFC 7628). By
 * nodemailer's hook for mechanisms of one's own; its XOAUTH2 knows no other mechanism, and fetches no new token after a plain 535.
 */

import type SMTPConnection from 'nodemailer/lib/smtp-connection';
import type { AccessTokens, TokenOwner } from './access-tokens.ts';

/** The mail server refused the sign-in. `tokens` were sent to it, and its reply may repeat them. */
export class SignInRefused extends Error {
  readonly tokens: readonly string[];
  constructor(tokens: readonly string[]) {
    super('the mail server refused the access token');
    this.name = 'SignInRefused';
    this.tokens = tokens;
  }
}

/** The name under which nodemailer runs the hook. */
export const TOKEN_MECHANISM = 'OAUTHBEARER';

export interface SignIn {
  readonly tokens: AccessTokens;
  readonly owner: TokenOwner;
  readonly server: { readonly host: string; readonly port: number; readonly user: string };
}

type Session = Pick<SMTPConnection.CustomAuthenticationContext, 'authMethods' | 'sendCommand'>;

/** Signs a session in. A refused token is replaced once. Rejects with SignInRefused, and with TokenFailure. */
export async function signIn(session: Session, { tokens, owner, server }: SignIn): Promise<void> {
  const isOffered = session.authMethods.includes('XOAUTH2');
  const used: string[] = [];
  let token: string | null = await tokens.tokenOf(owner);
  while (token !== null) {
    used.push(token);
    const initial = isOffered ? xoauth2(server, token) : oauthBearer(server, token);
    let reply = await session.sendCommand(`AUTH ${isOffered ? 'XOAUTH2' : 'OAUTHBEARER'} ${base64(initial)}`);
    // It says why it refuses the token, and ends the exchange when that was answered: with nothing, or with ^A (RFC 7628 3.2.3).
    const explained = reply.status === 334;
    if (explained) reply = await session.sendCommand(isOffered ? '' : base64('\x01'));
    if (reply.status >= 200 && reply.status < 300) return tokens.accepted(token, owner);
    if (!explained && reply.status !== 535) break;
    if (used.length > 1) {
      tokens.forget(token, owner);
      break;
    }
    token = await tokens.insteadOf(token, owner);
  }
  throw new SignInRefused(used);
}

function base64(text: string): string {
  return Buffer.from(text).toString('base64');
}

/** https://developers.google.com/workspace/gmail/imap/xoauth2-protocol, which Microsoft follows. */
function xoauth2({ user }: SignIn['server'], token: string): string {
  return `user=${user}\x01auth=Bearer ${token}\x01\x01`;
}

/** RFC 7628 3.1, with the user's name as RFC 5801 4 writes it. */
function oauthBearer({ host, port, user }: SignIn['server'], token: string): string {
  const name = user.replaceAll('=', '=3D').replaceAll(',', '=2C');
  return `n,a=${name},\x01host=${host}\x01port=${port}\x01auth=Bearer ${token}\x01\x01`;
}

/** A token in every form in which it was sent: a server's reply may repeat it. */
export function spellingsOf(server: SignIn['server'], token: string): string[] {
  return [base64(xoauth2(server, token)), base64(oauthBearer(server, token)), base64(token), token];
}
