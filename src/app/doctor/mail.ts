import { systemClock as clock } from '../../base/clock.ts';
import { refreshTurns } from '../../brands/refresh-turns.ts';
import { clientSecretContext, passwordContext, refreshTokenContext, Sealing } from '../../brands/sealing.ts';
import { tokenPolicy } from '../../brands/token-url.ts';
import type { Config } from '../../config/config.ts';
import { AccessTokens } from '../../delivery/access-tokens.ts';
import type { SmtpServer } from '../../delivery/message.ts';
import { failureOf } from '../../delivery/smtp-failure.ts';
import { verifyServer } from '../../delivery/smtp-pools.ts';
import { TokenFailure } from '../../delivery/token-request.ts';
import type { Outbound } from '../../outbound/outbound.ts';
import { type BrandServer, brandServers, refreshTurnsAt } from '../../persistence/operations/inspect.ts';
import type { Findings } from './finding.ts';

/**
 * Each brand's server, up to the login: no mail is sent. A refresh token that the token endpoint gives in place of the one that was used
 * is kept, as a service would keep it: the old one may no longer be taken.
 */
export async function checkMail(config: Config, { outbound }: { outbound: Outbound }, to: Findings): Promise<void> {
  const { database, brandSmtpKeys, production } = config;
  const { url } = database;
  if (url === null) {
    to.ok('not asked: the servers of brands are in the embedded database');
    return;
  }
  // That it cannot be reached is told once, by its own check.
  const brands = await brandServers(url).catch(() => []);
  if (!brands.some(({ isDefault }) => isDefault) && production) {
    to.warn('the default brand has no SMTP server: its mails wait', 'Set one: docs/guides/brands.md.');
  }
  if (brands.length === 0 && !production) to.ok('no brand has an SMTP server: mails are kept in the mailbox');
  const sealing = new Sealing(brandSmtpKeys, clock);
  const turns = refreshTurns({ store: refreshTurnsAt(url), sealing, clock });
  const tokens = new AccessTokens({ outbound, policy: tokenPolicy(config), clock, turns });
  await Promise.all(brands.map((brand) => checkBrand(brand, sealing, tokens, to)));
}

async function checkBrand(brand: BrandServer, sealing: Sealing, tokens: AccessTokens, to: Findings): Promise<void> {
  const { id, slug, host, port, allowInsecure, user, auth } = brand;
  const at = `brand ${slug}, ${host}:${port}`;
  const smtp = serverOf(brand, sealing);
  if (smtp === null) {
    const secret = auth === 'password' ? 'password was' : 'secrets were';
    to.fail(`${at}: its ${secret} sealed with a key that is not configured`, 'Put it back into brandSmtpKey.');
    return;
  }
  try {
    await verifyServer(id, smtp, { tokens });
    if (allowInsecure) to.warn(`${at} answers, and may be spoken to in cleartext`, 'Take allowInsecure off the brand.');
    else to.ok(`${at} answers${user === null ? '' : ', and takes the login'}`);
  } catch (error) {
    const { kind, code } = failureOf(error, smtp) as { kind: string; code?: string };
    const isToken = error instanceof TokenFailure;
    const advice = isToken ? adviceOf(error) : kind === 'auth' ? LOGIN_ADVICE[auth] : SERVER_ADVICE;
    const found = isToken ? 'no access token' : kind === 'auth' ? 'the login is refused' : 'no session';
    to.fail(`${at}: ${found} (${code ?? 'no code'})`, advice);
  }
}

const SERVER_ADVICE = 'Check host, port and secure (TLS from the first byte) of the brand, and the way to the server.';
const LOGIN_ADVICE = {
  password: 'Set user and password of the brand anew.',
  oauth2: 'Check user and scope of the brand, and what the client may do at the mail server.',
} as const;

function adviceOf({ kind }: TokenFailure): string {
  return kind === 'auth'
    ? 'Set tokenUrl, clientId and the secrets of the brand anew.'
    : 'Check tokenUrl of the brand, and the way to the token endpoint.';
}

/** Null where a secret was sealed with another key. */
function serverOf(brand: BrandServer, sealing: Sealing): SmtpServer | null {
  const { id, host, port, secure, allowInsecure, user, auth, tokenUrl, clientId, scope } = brand;
  const server = { host, port, secure, allowInsecure, user };
  if (auth === 'oauth2' && tokenUrl !== null && clientId !== null) {
    const { clientSecret: sealedSecret, refreshToken: sealedToken } = brand;
    const clientSecret = sealedSecret === null ? null : sealing.openText(clientSecretContext(id), sealedSecret);
    const refreshToken = sealedToken === null ? null : sealing.openText(refreshTokenContext(id), sealedToken);
    const isLost = (clientSecret === null && sealedSecret !== null) || (refreshToken === null && sealedToken !== null);
    return isLost
      ? null
      : { ...server, password: null, oauth2: { tokenUrl, clientId, clientSecret, scope, refreshToken } };
  }
  const { password: text, key } = brand;
  const password = text === null || key === null ? null : sealing.open(passwordContext(id), { key, text });
  return password === null && text !== null ? null : { ...server, password, oauth2: null };
}
