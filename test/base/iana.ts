import { createRequire } from 'node:module';

const { zones } = createRequire(import.meta.url)('tzdata') as { zones: Record<string, unknown> };

/** Names and links of IANA's database, but for `Factory`, which says that a machine was not set up. By code units. */
export function namesOfIana(): string[] {
  return Object.keys(zones)
    .filter((name) => name !== 'Factory')
    .sort();
}
