/** Longer than every wait of closing: calls in flight, requests, deliveries. Shorter than the 30 s of orchestrators. */
export const CLOSING_MS = 25_000;

/**
 * Closes the service within a bounded time; false when that was too short. The timers and sockets of a closing service do not
 * keep its process alive, which would end halfway; the timer here does.
 */
export async function closeInTime(app: { close(): Promise<void> }): Promise<boolean> {
  let timer: NodeJS.Timeout | undefined;
  const late = new Promise<false>((resolve) => {
    timer = setTimeout(resolve, CLOSING_MS, false);
  });
  try {
    return await Promise.race([app.close().then(() => true), late]);
  } finally {
    clearTimeout(timer);
  }
}
