/** The beginning of the panel: who is signed in, in which language, and then the first view. */

import './styles/base.css';
import { createRoot } from 'react-dom/client';
import { setCaller } from './api/call.ts';
import { noteRequest } from './api/request-log.ts';
import { App } from './app.tsx';
import { type PanelConfig, readConfig } from './session/config.ts';
import { developmentWay, peopleToBe, signInAs, takeCode } from './session/development.ts';
import { ASKED, readKept } from './session/kept.ts';
import { session } from './session/session.ts';
import { listenForKeys } from './shell/keys.ts';
import { preferences, show } from './shell/preferences.ts';
import { watchForUpgrades } from './shell/upgraded.ts';
import { loadWords } from './words/words.ts';

async function begin(config: PanelConfig): Promise<void> {
  if (config.signIn === 'development') return await beginForDevelopment();
  if (config.signIn !== 'oidc') return session.begin(null, null);
  const { openOidc, leaveForProvider } = await import('./session/oidc.ts');
  const provider = { ...config, issuer: config.issuer ?? '', clientId: config.clientId ?? '' };
  const { way, token, problem } = await openOidc(provider);
  session.begin(way, token, problem ?? undefined);
  if (token !== null || problem !== null || readKept('session', ASKED) !== null) return;
  // The playground is for everybody: nobody is sent away from it.
  if (location.pathname === '/panel/playground') return;
  // The provider's own session answers without a question where there is one.
  await leaveForProvider(provider, false);
}

/** The link of the banner signs in at once: as who the tab was before, else as the first SuperAdmin. */
async function beginForDevelopment(): Promise<void> {
  const code = takeCode();
  if (code === null) return session.begin(null, null);
  const way = developmentWay(code);
  try {
    const email =
      readKept('session', 'email') ?? (await peopleToBe(code)).find(({ role }) => role === 'superadmin')?.email;
    session.begin(way, email === undefined ? null : await signInAs(code, email));
  } catch {
    // The code is of an earlier start: the page asks for the new one.
    session.begin(way, null);
  }
}

async function start(): Promise<void> {
  show();
  listenForKeys();
  setCaller({ token: () => session.token(), renewed: (refused) => session.renewed(refused), note: noteRequest });
  const [config, words] = await Promise.all([readConfig(), loadWords(preferences().language)]);
  watchForUpgrades(config);
  const root = document.getElementById('root');
  if (root === null) throw new Error('the page has no #root');
  createRoot(root).render(<App config={config} words={words} />);
  try {
    await begin(config);
  } catch (error) {
    session.begin(null, null, error instanceof Error ? error.message : String(error));
  }
}

start().catch((error: unknown) => {
  // Nothing is there yet that could show it.
  document.body.textContent = `Usher cannot be reached. Reload to try again. (${String(error)})`;
});
