import type { Config } from '../../config/config.ts';
import { OPERATOR_POLICY, type Outbound } from '../../outbound/outbound.ts';
import type { Findings } from './finding.ts';
import { REQUEST } from './proxy.ts';

/** Tells that Usher answers, without credentials; there wherever people reach the gateway. */
const PATH = '/api/manifest.schema.json';

/** Whether what people reach at publicUrl is this service, and whether anybody can sign in to the panel. */
export async function checkPublicUrl(config: Config, outbound: Outbound, to: Findings): Promise<void> {
  const { publicUrl, roles, panel, auth, production } = config;
  if (!roles.includes('gateway')) return;
  if (panel.enabled && auth.issuer !== null && panel.clientId === null) {
    const found = 'the panel has no client at the identity provider, so nobody can sign in to it';
    to.warn(
      found,
      'Set panel.clientId (PANEL_CLIENT_ID), or panel.enabled to false: docs/guides/identity-provider.md.',
    );
  }
  if (publicUrl === null) return;
  const request = { ...REQUEST, url: publicUrl + PATH, policy: OPERATOR_POLICY };
  const advice = 'Check publicUrl (PUBLIC_URL), and that the proxy there leads every path here as it is.';
  try {
    const answer = await outbound.send(request);
    const text = Buffer.from(answer.body).toString('utf8');
    if (answer.status === 200 && text.includes('"$schema"') && /usher/i.test(text)) {
      to.ok(`${publicUrl} answers as Usher`);
    } else to.fail(`${publicUrl} answers, but not as Usher (status ${answer.status})`, advice);
  } catch (error) {
    // Nothing runs there yet: in development this is usual.
    if (!production) return;
    const words = error instanceof Error ? error.message : 'no answer';
    to.warn(`${publicUrl}: ${words}; links in mails and the panel lead there`, advice);
  }
}
