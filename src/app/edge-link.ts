/** The connection of an edge to its upstream, as the configuration has it. */

import type { Clock } from '../base/clock.ts';
import { isLoopbackHost } from '../base/ip-address.ts';
import type { Config } from '../config/config.ts';
import { UpstreamLink } from '../upstream/link.ts';

export function openLink(
  config: Config,
  { localKey, ca, clock }: { localKey: string | null; ca: string | undefined; clock: Clock },
): UpstreamLink {
  const { address, plaintext } = config.upstream;
  if (address === null) throw new Error('an edge has an upstream');
  return new UpstreamLink({ address, key: usualKey(config, localKey), ca, plaintext, clock });
}

/** The key that the upstream is shown. A service that was started beside this process, with the same dataDir, has that key. */
export function usualKey({ upstream, production }: Config, localKey: string | null): string | null {
  const isOwnMachine = isLoopbackHost((upstream.address ?? '').replace(/:\d+$/, ''));
  return upstream.key ?? (isOwnMachine && !production ? localKey : null);
}
