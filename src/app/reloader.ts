/** SIGHUP: the configuration is read anew, checked as at a start, and taken as a whole or not at all (docs/guides/reload-and-tls.md). */

import { isDeepStrictEqual } from 'node:util';
import type { Logger } from '../base/telemetry.ts';
import { type Checked, type ConfigCheck, ConfigError, type RawConfig } from '../config/config.ts';
import { type Reloaded, reloadConfig } from '../config/reload.ts';
import type { KeyChanges } from '../identity/api-keys.ts';
import { readTlsFiles, type TlsFiles, type ToReload } from './tls-files.ts';

/** Where a new configuration comes from. */
export interface ReloadSource {
  /** What the service was started with. */
  readonly running: Checked;
  readonly checks: readonly ConfigCheck[];
  /** Reads the file and those of secrets again. */
  read(): Promise<RawConfig>;
}

/** A service that is up. */
export interface ReloadTarget {
  /** What its certificates were at the start. */
  readonly files: TlsFiles;
  reload(next: ToReload): Promise<KeyChanges>;
  /** Counts a reload. */
  reloaded(isTaken: boolean): void;
}

export class Reloader {
  readonly #source: ReloadSource;
  readonly #log: Logger;
  #running: Checked;
  #files: TlsFiles = {};
  #target: ReloadTarget | undefined;
  #wanted = false;
  #work: Promise<void> | undefined;
  #stopped = false;

  constructor(source: ReloadSource, log: Logger) {
    this.#source = source;
    this.#log = log;
    this.#running = source.running;
  }

  /** Wishes that come during a reload are one reload after it; those that come before the service is up wait for it. */
  request(): void {
    this.#wanted = true;
    if (this.#target !== undefined && !this.#stopped) this.#work ??= this.#go(this.#target);
  }

  begin(target: ReloadTarget): void {
    this.#target = target;
    this.#files = target.files;
    if (this.#wanted) this.request();
  }

  /** Resolves once no reload is under way, and none will be. */
  async stop(): Promise<void> {
    this.#stopped = true;
    await this.#work;
  }

  async #go(target: ReloadTarget): Promise<void> {
    while (this.#wanted && !this.#stopped) {
      this.#wanted = false;
      await this.#once(target);
    }
    this.#work = undefined;
  }

  /** Never rejects. */
  async #once(target: ReloadTarget): Promise<void> {
    try {
      const reloaded = reloadConfig(this.#running, await this.#source.read(), this.#source.checks);
      // A certificate that counts from the next start must not end it.
      await readTlsFiles(reloaded.given.config);
      const files = await readTlsFiles(reloaded.next.config);
      const { level } = this.#running.config.log;
      const keys = await target.reload({ config: reloaded.next.config, files });
      target.reloaded(true);
      this.#say(reloaded, { keys, certificates: changedFiles(this.#files, files) }, level);
      this.#running = reloaded.next;
      this.#files = files;
    } catch (error) {
      target.reloaded(false);
      // Faults name keys and rules, never the value of a secret.
      const why = error instanceof ConfigError ? { faults: error.faults } : { reason: (error as Error).message };
      this.#log.error(why, 'configuration not reloaded; everything stays as it was');
    }
  }

  #say(
    { changed, restart }: Reloaded,
    { keys, certificates }: { keys: KeyChanges; certificates: string[] },
    levelBefore: string,
  ): void {
    const line = { changed, keys, certificates, restart };
    const words =
      restart.length === 0 ? 'configuration reloaded' : 'configuration reloaded; restart to take the keys in restart';
    const { level } = this.#log;
    // The last line before the log grows quieter says so.
    if (!this.#log.isLevelEnabled('info')) this.#log.level = levelBefore;
    this.#log.info(line, words);
    this.#log.level = level;
  }
}

/** The names of those that hold other certificates now. */
function changedFiles(before: TlsFiles, next: TlsFiles): string[] {
  const first = (['grpc', 'gateway', 'upstream'] as const).filter(
    (name) => !isDeepStrictEqual(before[name], next[name]),
  );
  const further = (next.listeners ?? []).flatMap((one, index) =>
    isDeepStrictEqual(before.listeners?.[index], one) ? [] : [`listeners[${index}]`],
  );
  return [...first, ...further];
}
