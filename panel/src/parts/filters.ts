/** Filters that stand in the address, so that every view is a link. */

import { useMemo } from 'react';
import { useSearchParams } from 'wouter';

export interface Filters<N extends string> {
  readonly values: Readonly<Record<N, string>>;
  /** An empty text takes a filter away. The step is not one of the browser's history. */
  readonly set: (changes: Partial<Record<N, string>>) => void;
}

/** The filters of an address. */
export function filtersIn<N extends string>(
  parameters: URLSearchParams,
  defaults: Readonly<Record<N, string>>,
): Readonly<Record<N, string>> {
  const names = Object.keys(defaults) as N[];
  return Object.fromEntries(names.map((name) => [name, parameters.get(name) ?? defaults[name]])) as Record<N, string>;
}

/** `defaults` names the filters, with the value that each has when the address does not say. */
export function useFilters<N extends string>(defaults: Readonly<Record<N, string>>): Filters<N> {
  const [parameters, setParameters] = useSearchParams();
  const names = Object.keys(defaults) as N[];
  const text = parameters.toString();
  // biome-ignore lint/correctness/useExhaustiveDependencies: the text of the address is what the values depend on
  const values = useMemo(() => filtersIn(parameters, defaults), [text, names.join()]);
  return {
    values,
    set: (changes) =>
      setParameters(
        (before) => {
          const after = new URLSearchParams(before);
          for (const [name, value] of Object.entries(changes) as [N, string][]) {
            if (value === defaults[name] || value === '') after.delete(name);
            else after.set(name, value);
          }
          return after;
        },
        { replace: true },
      ),
  };
}
