/** A small application on Usher: who is signed in, what they may do, a bell, and pushes. */

import '@usher-service/react/styles.css';
import './page.css';
import { UsherProvider } from '@usher-service/react';
import { StrictMode, useState } from 'react';
import { createRoot } from 'react-dom/client';
import { Administration } from './administration.tsx';
import { Header } from './header.tsx';
import { Project } from './project.tsx';
import { Pushes } from './pushes.tsx';
import { tokenOf, USHER_URL } from './service.ts';

const address = new URL(location.href).searchParams;

function App() {
  const [email, setEmail] = useState(address.get('as'));
  const [problem, setProblem] = useState('');
  const signIn = (somebody: string | null) => {
    setProblem('');
    setEmail(somebody);
  };
  return (
    <UsherProvider
      url={USHER_URL}
      app="atelier"
      user={email}
      // A real application takes it from its identity provider's library, which renews it.
      getToken={({ renew }) => (email === null ? null : tokenOf(email, renew))}
      maxStalenessMs={Number(address.get('maxStalenessMs') ?? 30_000)}
      onUnauthenticated={() => setProblem('Your session has ended. Sign in again.')}
    >
      <Header email={email} onChange={signIn} />
      <main>
        <p role="alert">{problem}</p>
        {email === null ? (
          <p>Sign in to see the project.</p>
        ) : (
          <>
            <Project />
            <Pushes />
            <Administration email={email} />
          </>
        )}
      </main>
    </UsherProvider>
  );
}

const root = document.getElementById('app');
if (root !== null)
  createRoot(root).render(
    <StrictMode>
      <App />
    </StrictMode>,
  );
