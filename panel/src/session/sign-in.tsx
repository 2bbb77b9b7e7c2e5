import { type ReactNode, useEffect, useState } from 'react';
import { asError } from '../api/error.ts';
import { Badge } from '../parts/badge.tsx';
import { Button } from '../parts/button.tsx';
import { TextField } from '../parts/field.tsx';
import { Loading, Problem } from '../parts/problem.tsx';
import { useWords } from '../words/words.ts';
import type { PanelConfig } from './config.ts';
import { developmentWay, type Person, peopleToBe, signInAs } from './development.ts';
import { readKept } from './kept.ts';
import { session } from './session.ts';
import css from './sign-in.module.css';

/** What somebody sees who is not signed in. */
export function SignIn({ config, problem }: { config: PanelConfig; problem: string | undefined }) {
  if (config.signIn === 'development') return <SignInForDevelopment />;
  return config.signIn === 'oidc' ? <SignInAtProvider config={config} problem={problem} /> : <Unconfigured />;
}

function Frame({ title, children }: { title: string; children: ReactNode }) {
  useEffect(() => {
    document.title = `${title} · Usher`;
  }, [title]);
  return (
    <main className={css.frame}>
      <div className={css.box}>
        <img src="/panel/icon.svg" alt="" width="36" height="36" />
        <h1>{title}</h1>
        {children}
      </div>
    </main>
  );
}

function SignInForDevelopment() {
  const { session: words, common } = useWords();
  const [code, setCode] = useState(readKept('session', 'code') ?? '');
  const [people, setPeople] = useState<readonly Person[] | null>(null);
  const [other, setOther] = useState('');
  const [error, setError] = useState<Error | null>(null);
  const look = async (wanted: string): Promise<void> => {
    setError(null);
    try {
      setPeople(await peopleToBe(wanted));
    } catch (thrown) {
      setPeople(null);
      setError(asError(thrown));
    }
  };
  const be = async (email: string): Promise<void> => {
    setError(null);
    try {
      const token = await signInAs(code, email);
      session.begin(developmentWay(code), token);
    } catch (thrown) {
      setError(asError(thrown));
    }
  };
  // biome-ignore lint/correctness/useExhaustiveDependencies: once, with the code of the link; a typed one is sent by the form
  useEffect(() => {
    if (code !== '') void look(code);
  }, []);
  if (people === null) {
    return (
      <Frame title={words.title}>
        <p>{words.needCode}</p>
        <Problem error={error} />
        <form
          className={css.form}
          onSubmit={(event) => {
            event.preventDefault();
            void look(code);
          }}
        >
          <TextField label={words.code} value={code} onText={setCode} required />
          <Button kind="primary" type="submit">
            {words.signIn}
          </Button>
        </form>
      </Frame>
    );
  }
  return (
    <Frame title={words.beWhom}>
      <p>{words.beWhomWhy}</p>
      <Problem error={error} />
      <ul className={css.people}>
        {people.map(({ email, name, role, description }) => (
          <li key={email}>
            <button type="button" className={css.person} onClick={() => void be(email)}>
              <span>
                <b>{name ?? email}</b>{' '}
                <Badge tone={role === 'superadmin' ? 'accent' : 'neutral'}>{words.roles[role]}</Badge>
              </span>
              {name !== null && <span className={css.soft}>{email}</span>}
              <span className={css.soft}>{description}</span>
            </button>
          </li>
        ))}
      </ul>
      <form
        className={css.form}
        onSubmit={(event) => {
          event.preventDefault();
          void be(other);
        }}
      >
        <TextField
          label={words.otherAddress}
          type="email"
          value={other}
          onText={setOther}
          required
          placeholder={common.email}
        />
        <Button type="submit">{words.signIn}</Button>
      </form>
    </Frame>
  );
}

function SignInAtProvider({ config, problem }: { config: PanelConfig; problem: string | undefined }) {
  const { session: words } = useWords();
  const [busy, setBusy] = useState(false);
  const [error, setError] = useState<Error | null>(null);
  const issuer = config.issuer ?? '';
  const leave = async (): Promise<void> => {
    setBusy(true);
    setError(null);
    try {
      const { leaveForProvider } = await import('./oidc.ts');
      await leaveForProvider({ ...config, issuer, clientId: config.clientId ?? '' }, true);
    } catch {
      setBusy(false);
      setError(new Error(words.providerAway(issuer)));
    }
  };
  return (
    <Frame title={words.title}>
      {problem !== undefined && <Problem error={new Error(`${words.failed} ${problem}`)} />}
      <Problem error={error} />
      <Button kind="primary" busy={busy} onClick={() => void leave()}>
        {busy ? words.leaving : words.withProvider(hostOf(issuer))}
      </Button>
      {busy && <Loading rows={1} />}
    </Frame>
  );
}

function hostOf(issuer: string): string {
  return URL.parse(issuer)?.host ?? issuer;
}

function Unconfigured() {
  const { session: words } = useWords();
  return (
    <Frame title={words.unconfigured}>
      <p>{words.unconfiguredWhy}</p>
      <p>
        {words.redirectUri}: <code>{`${location.origin}/panel/`}</code>
      </p>
    </Frame>
  );
}
