import { Inbox } from '@usher-service/react';
import { useState } from 'react';

interface HeaderProps {
  readonly email: string | null;
  readonly onChange: (email: string | null) => void;
}

/** Who is signed in, and their bell. */
export function Header({ email, onChange }: HeaderProps) {
  const [typed, setTyped] = useState('ben@example.com');
  return (
    <header>
      <h1>Atelier</h1>
      {email === null ? (
        <form
          onSubmit={(event) => {
            event.preventDefault();
            onChange(typed);
          }}
        >
          <label>
            E-mail <input type="email" required value={typed} onChange={(event) => setTyped(event.target.value)} />
          </label>{' '}
          <button type="submit">Sign in</button>
        </form>
      ) : (
        <>
          <span>{email}</span>
          <Inbox />
          <button type="button" onClick={() => onChange(null)}>
            Sign out
          </button>
        </>
      )}
    </header>
  );
}
