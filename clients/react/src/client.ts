/** All that is known of one person in one application. Somebody else gets another client: nothing can be left of the one before. */

import { Api } from './api.ts';
import { InboxStore } from './inbox-store.ts';
import { isHidden, PermissionStore } from './permission-store.ts';
import { requireText } from './questions.ts';
import { type GetToken, Session } from './session.ts';

export interface UsherClientOptions {
  /** The REST address of the service; empty for the page's own origin. */
  readonly url: string;
  /** The code of the application. */
  readonly app: string;
  /** Null: nobody is signed in. */
  readonly getToken: GetToken | null;
  readonly maxStalenessMs?: number | undefined;
  readonly onUnauthenticated?: (() => void) | undefined;
}

/** An "allowed" is shown for this long after it was asked for, in milliseconds. */
export const MAX_STALENESS_MS = 30_000;
/** Below, pages would ask more often than anybody can look. */
const LEAST_STALENESS_MS = 1_000;
const MOST_STALENESS_MS = 3_600_000;
/** A hidden page keeps its streams for this long: windows are changed often. */
const HIDDEN_MS = 20_000;
/** When a page is shown again: a browser may also have stopped one that it did not hide (Page Lifecycle, "resume"). */
const SEEN = ['visibilitychange', 'resume'];

export class UsherClient {
  readonly app: string;
  readonly api: Api;
  readonly permissions: PermissionStore;
  readonly inbox: InboxStore;
  readonly isSignedIn: boolean;
  #hiding: ReturnType<typeof setTimeout> | undefined;

  /** Throws UsherError INVALID_ARGUMENT without an application or an address. */
  constructor({ url, app, getToken, maxStalenessMs = MAX_STALENESS_MS, onUnauthenticated }: UsherClientOptions) {
    requireText(app, 'app');
    if (typeof url !== 'string') requireText(url, 'url');
    this.app = app;
    this.isSignedIn = getToken !== null;
    const session = new Session({ getToken: getToken ?? (() => null), onUnauthenticated });
    this.api = new Api(url, session);
    const common = { api: this.api, isSignedIn: this.isSignedIn };
    // What is not a number must not become a bound that is never reached.
    const bound =
      maxStalenessMs > LEAST_STALENESS_MS ? Math.min(maxStalenessMs, MOST_STALENESS_MS) : LEAST_STALENESS_MS;
    this.permissions = new PermissionStore({ ...common, app, maxStalenessMs: bound });
    this.inbox = new InboxStore(common);
    session.onOtherPerson = () => {
      this.permissions.forget();
      this.inbox.forget();
    };
  }

  /** Begins to ask, until the returned function is called. It may be started again. */
  start(): () => void {
    this.permissions.start();
    this.inbox.start();
    const isBrowser = typeof document !== 'undefined';
    const seen = (): void => this.#seen();
    const online = (): void => this.retry();
    if (isBrowser) {
      for (const event of SEEN) document.addEventListener(event, seen);
      addEventListener('pageshow', seen);
      addEventListener('online', online);
    }
    return () => {
      if (isBrowser) {
        for (const event of SEEN) document.removeEventListener(event, seen);
        removeEventListener('pageshow', seen);
        removeEventListener('online', online);
      }
      clearTimeout(this.#hiding);
      this.permissions.stop();
      this.inbox.stop();
    };
  }

  /** Asks again at once, with streams of their own: there is another token, or the network is back. */
  retry(): void {
    this.permissions.pause();
    this.inbox.pause();
    this.permissions.resume();
    this.inbox.resume();
  }

  /** Streams are few (a browser has six connections to a host, a person ten streams): hidden pages leave them to others. */
  #seen(): void {
    clearTimeout(this.#hiding);
    if (!isHidden()) {
      this.permissions.resume();
      this.inbox.resume();
      return;
    }
    this.#hiding = setTimeout(() => {
      this.permissions.pause();
      this.inbox.pause();
    }, HIDDEN_MS);
  }
}
