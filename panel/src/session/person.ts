/** What modules keep of the signed-in person: it goes when another person signs in, or somebody signs out. */

const forgetting = new Set<(before: string) => void>();

/** Registers what forgets, once for each module. `before`: whose it was. */
export function onPersonChanged(forget: (before: string) => void): void {
  forgetting.add(forget);
}

export function forgetPerson(before: string): void {
  for (const forget of forgetting) forget(before);
}
