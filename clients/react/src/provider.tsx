/** Who is signed in, and where the service is: for every component below. */

import {
  createContext,
  type ReactElement,
  type ReactNode,
  useContext,
  useEffect,
  useMemo,
  useRef,
  useState,
} from 'react';
import { UsherClient } from './client.ts';
import { type GetToken, subjectOf } from './session.ts';

interface CommonProps {
  /** The REST address of the service, such as `https://usher.example.com`; empty for the page's own origin. */
  readonly url: string;
  /** The code of the application. */
  readonly app: string;
  /** Milliseconds for which an "allowed" is shown after it was asked for, whatever fails meanwhile. 30,000 by default; 1,000 to 3,600,000. */
  readonly maxStalenessMs?: number | undefined;
  /** Called when the service refuses the token and there is no other one: everything is denied by then. */
  readonly onUnauthenticated?: (() => void) | undefined;
  readonly children?: ReactNode;
}

interface TokenProps {
  /** The access token; null while nobody is signed in. A new token of the same person keeps what is known. */
  readonly token: string | null;
  readonly getToken?: undefined;
  readonly user?: string | null | undefined;
}

interface GetTokenProps {
  /** Gives the access token whenever one is needed, and a new one when `renew` is true. */
  readonly getToken: GetToken;
  /** Anything that differs from person to person, such as the address; null while nobody is signed in. */
  readonly user: string | null;
  readonly token?: undefined;
}

export type UsherProviderProps = CommonProps & (TokenProps | GetTokenProps);

const Context = createContext<UsherClient | null>(null);

/** The client of the provider above. Throws without one. */
export function useClient(): UsherClient {
  const client = useContext(Context);
  if (client === null) throw new Error('This needs an <UsherProvider> above it.');
  return client;
}

/** What applications use of the client. */
export interface UsherHandle {
  /** Asks again for everything on the screen: after a write of which the page knows that it changes what is allowed. */
  readonly refresh: () => void;
}

/** For what no component does by itself. */
export function useUsher(): UsherHandle {
  const { permissions } = useClient();
  return useMemo(() => ({ refresh: () => permissions.refresh() }), [permissions]);
}

/** Tells everything below who is signed in. Another person, application or service starts from nothing: everything is denied until it is known. */
export function UsherProvider(props: UsherProviderProps): ReactElement {
  const latest = useRef(props);
  const name = nameOf(props);
  const [held, setHeld] = useState(() => ({ name, client: clientOf(props, latest) }));
  let { client } = held;
  if (held.name !== name) {
    // While rendering: not one component sees the answers of somebody else.
    client = clientOf(props, latest);
    setHeld({ name, client });
  }
  const { token } = props;
  const used = useRef(token);
  useEffect(() => {
    latest.current = props;
  });
  useEffect(() => client.start(), [client]);
  useEffect(() => {
    if (used.current !== token) client.retry();
    used.current = token;
  }, [client, token]);
  return <Context.Provider value={client}>{props.children}</Context.Provider>;
}

/** Everything on which answers depend. A token that does not say whose it is stands for itself. */
function nameOf(props: UsherProviderProps): string {
  const { url, app, maxStalenessMs, user, token } = props;
  const person = typeof token === 'string' ? (subjectOf(token) ?? token) : token;
  return JSON.stringify([url, app, maxStalenessMs, user, person, isSignedIn(props)]);
}

/** Somebody is, where the page says so: a token that is not given, and no function for one, is nobody. */
function isSignedIn({ user, token, getToken }: UsherProviderProps): boolean {
  return user !== null && (getToken === undefined ? typeof token === 'string' && token !== '' : true);
}

function clientOf(props: UsherProviderProps, latest: { readonly current: UsherProviderProps }): UsherClient {
  const { url, app, maxStalenessMs } = props;
  const getToken: GetToken = (options) => {
    const { current } = latest;
    return current.getToken === undefined ? current.token : current.getToken(options);
  };
  return new UsherClient({
    url,
    app,
    maxStalenessMs,
    getToken: isSignedIn(props) ? getToken : null,
    onUnauthenticated: () => latest.current.onUnauthenticated?.(),
  });
}
