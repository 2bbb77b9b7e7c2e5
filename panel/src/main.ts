/**
 * The beginning of the panel. This file is small and runs first: while the code that draws is loaded, it signs in, and asks what
 * the view at the address needs. Nothing waits for what it does not need.
 */

import './styles/base.css';
import './styles/starting.css';
import { setCaller } from './api/call.ts';
import { noteRequest } from './api/request-log.ts';
import { askAhead } from './places/ahead.ts';
import { preloadView } from './places/views.ts';
import { type PanelConfig, readConfig } from './session/config.ts';
import {
  askOtherTabs,
  developmentWay,
  keptSignIn,
  peopleToBe,
  signInAs,
  takeCode,
  tellOtherTabs,
} from './session/development.ts';
import { ASKED, readKept } from './session/kept.ts';
import { session, type Token } from './session/session.ts';
import { listenForKeys } from './shell/keys.ts';
import { preferences, show } from './shell/preferences.ts';
import { watchForUpgrades } from './shell/upgraded.ts';
import { loadWords } from './words/words.ts';

async function begin(config: PanelConfig, kept: Promise<Token> | null): Promise<void> {
  if (config.signIn === 'development') return await beginForDevelopment(kept);
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
async function beginForDevelopment(kept: Promise<Token> | null): Promise<void> {
  tellOtherTabs();
  const code = takeCode();
  if (code === null) return await beginAsOtherTab();
  const way = developmentWay(code);
  try {
    session.begin(way, await (kept ?? signInAsFirst(code)));
  } catch {
    // The code is of an earlier start: the page asks for the new one.
    session.begin(way, null);
  }
}

/** As who another tab of this browser is. Without one the page asks for the code. */
async function beginAsOtherTab(): Promise<void> {
  const told = await askOtherTabs();
  if (told === null) return session.begin(null, null);
  const way = developmentWay(told.code);
  try {
    session.begin(way, await signInAs(told.code, told.email));
  } catch {
    // The other tab is of an earlier start.
    session.begin(way, null);
  }
}

async function signInAsFirst(code: string): Promise<Token | null> {
  const first = (await peopleToBe(code)).find(({ role }) => role === 'superadmin');
  return first === undefined ? null : await signInAs(code, first.email);
}

/** Below `/panel`, as the router reads it. */
function pathOf({ pathname }: Location): string {
  return pathname.replace(/^\/panel/, '').replace(/(?<=.)\/$/, '') || '/';
}

/** Asks ahead when somebody signs in, at the address where they are by then. */
function askWhenSignedIn(): void {
  let person: string | null = null;
  session.subscribe(() => {
    const before = person;
    person = session.person;
    if (person !== null && person !== before) askAhead(pathOf(location), location.search);
  });
}

/**
 * To compile the code that draws keeps the browser busy. The first questions go out before that where signing in is quick, so that
 * the service answers meanwhile.
 */
const FIRST_QUESTIONS_MS = 100;

async function start(): Promise<void> {
  show();
  listenForKeys();
  setCaller({ token: () => session.token(), renewed: (refused) => session.renewed(refused), note: noteRequest });
  askWhenSignedIn();
  const kept = keptSignIn();
  const view = preloadView(pathOf(location));
  const configured = readConfig();
  const begun = configured.then(async (config) => {
    watchForUpgrades(config);
    try {
      await begin(config, kept);
    } catch (error) {
      session.begin(null, null, error instanceof Error ? error.message : String(error));
    }
  });
  const words = loadWords(preferences().language);
  await Promise.race([begun, new Promise((resolve) => setTimeout(resolve, FIRST_QUESTIONS_MS))]);
  const { draw } = await import('./app.tsx');
  await view;
  draw(await configured, await words);
  await begun;
}

/** In the words of each language: none of them may have been loaded. */
const UNREACHABLE = {
  en: ['Usher cannot be reached.', 'Try again'],
  cs: ['Usher není dostupný.', 'Zkusit znovu'],
} as const;

start().catch((error: unknown) => {
  const [text, retry] = UNREACHABLE[preferences().language];
  const told = document.createElement('div');
  told.className = 'unreachable';
  told.role = 'alert';
  const said = document.createElement('p');
  said.textContent = text;
  const why = document.createElement('p');
  why.textContent = String(error);
  const button = document.createElement('button');
  button.type = 'button';
  button.textContent = retry;
  button.onclick = () => location.reload();
  told.append(said, why, button);
  document.body.replaceChildren(told);
});
