import type { ReactElement, ReactNode } from 'react';
import type { PermissionQuestion } from './types.ts';
import { usePermission } from './use-permission.ts';

export interface CanProps extends PermissionQuestion {
  /** Shown when it is allowed. */
  readonly children?: ReactNode;
  /** Shown when it is denied; nothing by default. */
  readonly fallback?: ReactNode;
  /** Shown until the answer is known; nothing by default. */
  readonly pending?: ReactNode;
}

/** Shows its children to those who are allowed. It protects nothing: the backend asks again. */
export function Can(props: CanProps): ReactElement {
  const { permission, children = null, fallback = null, pending = null, ...options } = props;
  // With everything else that was given: a record that is undefined is not known yet, and a prop that is unknown is a mistake.
  const { allowed, known } = usePermission(permission, options);
  if (!known) return <>{pending}</>;
  return <>{allowed ? children : fallback}</>;
}
