/**
 * Signing in on a development machine: the link that the service prints carries a code, and who holds it chooses a person to
 * be. The address and the code are kept for the tab, so that a reload stays signed in; the token is not.
 */

import { keep, readKept } from './kept.ts';
import type { SignInWay, Token } from './session.ts';

export interface Person {
  readonly email: string;
  readonly name: string | null;
  readonly role: 'superadmin' | 'app_admin' | 'panel_edit' | 'panel_view' | 'user';
  readonly description: string;
}

/** Who this tab is, where the browser keeps nothing. */
let current: string | null = null;

/** Where the tabs of a browser tell each other who they are. Nothing of it is stored. */
const CHANNEL = 'usher-development';
/** A signed-in tab answers sooner. Without one, the sign-in page is shown after this time. */
const ANSWER_MS = 250;

/** Who a tab is, and the code by which it signed in. */
interface Told {
  readonly code: string;
  readonly email: string;
}

/** Asks the other tabs; null where none is signed in. A second tab needs no link of its own. */
export async function askOtherTabs(): Promise<Told | null> {
  const channel = new BroadcastChannel(CHANNEL);
  try {
    return await new Promise<Told | null>((resolve) => {
      setTimeout(() => resolve(null), ANSWER_MS);
      channel.onmessage = ({ data }: MessageEvent<unknown>) => {
        const { code, email } = (data ?? {}) as Partial<Told>;
        if (typeof code === 'string' && typeof email === 'string') resolve({ code, email });
      };
      channel.postMessage('who');
    });
  } finally {
    channel.close();
  }
}

/** Answers other tabs for as long as this one lives: with who it is, while it is somebody. */
export function tellOtherTabs(): void {
  const channel = new BroadcastChannel(CHANNEL);
  channel.onmessage = ({ data }: MessageEvent<unknown>) => {
    if (data !== 'who' || told === null) return;
    channel.postMessage(told);
  };
}

let told: Told | null = null;

/** A refusal with the service's words. */
class SignInRefused extends Error {
  override readonly name = 'SignInRefused';
  readonly status: number;

  constructor(message: string, status: number) {
    super(message);
    this.status = status;
  }
}

/** Takes the code out of the address bar, where it would be copied along with links. */
export function takeCode(): string | null {
  const url = new URL(location.href);
  const code = url.searchParams.get('code');
  if (code === null) return readKept('session', 'code');
  url.searchParams.delete('code');
  history.replaceState(history.state, '', url);
  keep('session', 'code', code);
  keep('session', 'email', null);
  return code;
}

/**
 * Signs in as who this tab was before, without waiting for the configuration; null in a tab that was nobody. Where signing in has
 * another way by now, nobody uses it. (A code in the address may also be that of a provider.)
 */
export function keptSignIn(): Promise<Token> | null {
  const [code, email] = [readKept('session', 'code'), readKept('session', 'email')];
  if (code === null || email === null || new URL(location.href).searchParams.has('code')) return null;
  const signedIn = signInAs(code, email);
  // Who uses it hears of a failure.
  signedIn.catch(() => undefined);
  return signedIn;
}

export async function peopleToBe(code: string): Promise<readonly Person[]> {
  const { people } = await ask<{ people: readonly Person[] }>(code, { method: 'GET' });
  return people;
}

export async function signInAs(code: string, email: string): Promise<Token> {
  const { token, expiresAt } = await ask<{ token: string; expiresAt: string }>(code, {
    method: 'POST',
    headers: { 'content-type': 'application/json' },
    body: JSON.stringify({ email }),
  });
  current = email;
  told = { code, email };
  keep('session', 'email', email);
  keep('session', 'code', code);
  return { value: token, expiresAt: Date.parse(expiresAt), email };
}

/** The way to sign in with this code. */
export function developmentWay(code: string): SignInWay {
  const again = async (): Promise<Token | null> => {
    const email = readKept('session', 'email') ?? current;
    return email === null ? null : await signInAs(code, email);
  };
  return {
    kind: 'development',
    renew: async () => {
      try {
        return await again();
      } catch (error) {
        if (error instanceof SignInRefused && error.status < 500 && error.status !== 429) return null;
        throw error;
      }
    },
    again,
    signOut: async () => {
      current = null;
      told = null;
      keep('session', 'email', null);
    },
  };
}

async function ask<T>(code: string, init: RequestInit): Promise<T> {
  const response = await fetch(`/dev/sign-in?code=${encodeURIComponent(code)}`, {
    ...init,
    signal: AbortSignal.timeout(15_000),
  });
  const body = (await response.json()) as { data?: T; message?: string };
  if (!response.ok || body.data === undefined) {
    throw new SignInRefused(body.message ?? `HTTP ${response.status}`, response.status);
  }
  return body.data;
}
