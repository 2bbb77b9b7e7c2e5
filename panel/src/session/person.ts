/** What modules keep in memory of the signed-in person: it goes when another person signs in, or somebody signs out. */

const forgetting = new Set<() => void>();

/** Registers what forgets, once for each module. */
export function onPersonChanged(forget: () => void): void {
  forgetting.add(forget);
}

export function forgetPerson(): void {
  for (const forget of forgetting) forget();
}
