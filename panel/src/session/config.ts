/** What the service tells the panel before anybody has signed in (docs/reference/service.md#panel). */

export interface PanelConfig {
  readonly signIn: 'development' | 'oidc' | 'unconfigured';
  readonly issuer: string | null;
  readonly clientId: string | null;
  readonly scope: string;
  readonly authorizeParams: Readonly<Record<string, string>>;
  readonly publicUrl: string;
  readonly version: string;
  readonly languages: readonly string[];
  /** Whether there is a development mailbox. */
  readonly mailbox: boolean;
  readonly production: boolean;
}

/** Rejects when the service cannot be reached. */
export async function readConfig(): Promise<PanelConfig> {
  const response = await fetch('/panel/config.json', { cache: 'no-store', signal: AbortSignal.timeout(15_000) });
  if (!response.ok) throw new Error(`config.json: HTTP ${response.status}`);
  return (await response.json()) as PanelConfig;
}
