/** Answers for components: denied until they are known, and current for as long as the component is there. */

import { useCallback, useMemo, useSyncExternalStore } from 'react';
import type { PermissionStore } from './permission-store.ts';
import { useClient } from './provider.tsx';
import { keyOf, questionOf, UNKNOWN } from './questions.ts';
import type { PermissionOptions, PermissionQuestion, PermissionState } from './types.ts';

const unknown = (): PermissionState => UNKNOWN;

/**
 * Whether the person is allowed something. All that the components of a page ask in one turn goes in one request.
 *
 * A `resource` that is null or undefined is not known yet: the answer is a denial, and nothing is asked. A question that is wrong (an
 * unknown option, an unknown level, half of a record) throws UsherError INVALID_ARGUMENT while rendering.
 */
export function usePermission(permission: string, options: PermissionOptions = {}): PermissionState {
  const { app, permissions } = useClient();
  const key = keyOf(app, questionOf(permission, options));
  const subscribe = useCallback(
    (listener: () => void) => (key === null ? nothing : permissions.hold(key, listener)),
    [permissions, key],
  );
  return useSyncExternalStore(subscribe, () => permissions.read(key), unknown);
}

/** A permission by its code, or with a record or a level. */
export type AskedPermission = string | PermissionQuestion;

/** The answers, in the order of the questions. */
export type PermissionStates<Asked extends readonly AskedPermission[]> = {
  readonly [Place in keyof Asked]: PermissionState;
};

/** The same for several permissions: `const [edit, archive] = usePermissions(['page.edit', 'page.archive'])`. */
export function usePermissions<const Asked extends readonly AskedPermission[]>(asked: Asked): PermissionStates<Asked> {
  const { app, permissions } = useClient();
  const names = JSON.stringify(asked.map((one) => keyOf(app, typeof one === 'string' ? { permission: one } : one)));
  const group = useMemo(() => new Group(permissions, JSON.parse(names) as (string | null)[]), [permissions, names]);
  return useSyncExternalStore(group.subscribe, group.read, group.unknown) as PermissionStates<Asked>;
}

/** Several questions as one store, whose value is the same object until an answer changes. */
class Group {
  readonly #permissions: PermissionStore;
  readonly #keys: readonly (string | null)[];
  #states: readonly PermissionState[] = [];
  readonly #unknown: readonly PermissionState[];

  constructor(permissions: PermissionStore, keys: readonly (string | null)[]) {
    this.#permissions = permissions;
    this.#keys = keys;
    this.#unknown = keys.map(unknown);
  }

  readonly subscribe = (listener: () => void): (() => void) => {
    const releases = this.#keys.map((key) => (key === null ? nothing : this.#permissions.hold(key, listener)));
    return () => {
      for (const release of releases) release();
    };
  };

  readonly read = (): readonly PermissionState[] => {
    const states = this.#keys.map((key) => this.#permissions.read(key));
    const isSame = states.length === this.#states.length && states.every((state, at) => state === this.#states[at]);
    if (!isSame) this.#states = states;
    return this.#states;
  };

  readonly unknown = (): readonly PermissionState[] => this.#unknown;
}

function nothing(): void {
  // Nothing is held for a question that cannot be asked yet.
}
