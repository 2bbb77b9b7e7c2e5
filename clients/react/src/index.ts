/** Permissions and notifications of Usher for React. */

export { Can, type CanProps } from './can.tsx';
export { UsherError } from './errors.ts';
export { Inbox } from './inbox.tsx';
export type { InboxProps } from './inbox-props.ts';
export type { InboxLabels } from './labels.ts';
export { type UsherHandle, UsherProvider, type UsherProviderProps, useUsher } from './provider.tsx';
export type { GetToken } from './session.ts';
export type {
  InboxItem,
  InboxState,
  Level,
  PermissionOptions,
  PermissionQuestion,
  PermissionState,
  Resource,
} from './types.ts';
export { type UseInbox, useInbox } from './use-inbox.ts';
export { type AskedPermission, type PermissionStates, usePermission, usePermissions } from './use-permission.ts';
export { type UsePush, type UsePushOptions, usePush } from './use-push.ts';
