import { usePush } from '@usher-service/react';

/** A switch for Web Push in this browser. */
export function Pushes() {
  const { supported, subscribed, busy, error, subscribe, unsubscribe } = usePush();
  if (!supported) return null;
  return (
    <section aria-labelledby="pushes">
      <h2 id="pushes">Pushes</h2>
      <button type="button" disabled={busy} onClick={() => void (subscribed === true ? unsubscribe() : subscribe())}>
        {subscribed === true ? 'No pushes here' : 'Take pushes here'}
      </button>
      <p role="status">{error?.message ?? (subscribed === true ? 'This browser takes pushes.' : '')}</p>
    </section>
  );
}
