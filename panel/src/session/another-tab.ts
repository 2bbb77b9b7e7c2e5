/** Another tab that signs in and hands over what it got, on a channel that only the two know. */

import { PopupBlocked } from './session.ts';

export class AnotherTab<T> {
  #stop: (() => void) | null = null;

  /**
   * What the tab hands over; null once another was opened or `stop` was called. Whether a tab was closed cannot be known here,
   * where the provider's page isolates itself, so that waiting ends only in these ways. `open` opens the tab that is told the
   * name; false throws PopupBlocked.
   */
  async ask(open: (name: string) => boolean): Promise<T | null> {
    this.stop();
    const name = crypto.randomUUID();
    const channel = channelOf(name);
    try {
      if (!open(name)) throw new PopupBlocked();
      return await new Promise<T | null>((resolve) => {
        this.#stop = () => resolve(null);
        channel.onmessage = ({ data }) => resolve(data as T);
      });
    } finally {
      channel.close();
    }
  }

  stop(): void {
    this.#stop?.();
    this.#stop = null;
  }
}

/** In the opened tab. */
export function handOver<T>(name: string, value: T): void {
  const channel = channelOf(name);
  channel.postMessage(value);
  channel.close();
}

function channelOf(name: string): BroadcastChannel {
  return new BroadcastChannel(`usher-${name}`);
}
