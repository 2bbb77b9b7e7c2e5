/** Asks Usher who may do what. */

export {
  DeniedError,
  InvalidQuestionError,
  UnavailableError,
  UsherError,
  type Violation,
} from './errors.ts';
export type { KeepOptions, KeptCall, KeptQuestion } from './kept.ts';
export { createNotifier, type Notification, type Notifier, type NotifierOptions } from './notify.ts';
export { createUsher, type KeepingUsher, type UsherOptions } from './remote.ts';
export type {
  Allowed,
  AskOptions,
  BulkQuestion,
  Change,
  Changes,
  Decision,
  Explanation,
  Held,
  Level,
  Log,
  Question,
  Reach,
  Resource,
  RuleResult,
  Source,
  Subject,
  Usher,
  WatchOptions,
} from './types.ts';
