import { Migration0001Policy } from './0001-policy.ts';
import { Migration0002People } from './0002-people.ts';
import { Migration0003Notifications } from './0003-notifications.ts';
import { Migration0004InboxWords } from './0004-inbox-words.ts';
import { Migration0005OwnNames } from './0005-own-names.ts';
import { Migration0006StrictCodes } from './0006-strict-codes.ts';
import { Migration0008OverrideResources } from './0008-override-resources.ts';
import { Migration0009PanelLists } from './0009-panel-lists.ts';
import { Migration0010Operations } from './0010-operations.ts';
import { Migration0011EntityListSearch } from './0011-entity-list-search.ts';
import { Migration0012Erasure } from './0012-erasure.ts';
import { Migration0014Reconciliation } from './0014-reconciliation.ts';
import { Migration0015Partitions } from './0015-partitions.ts';
import { Migration0016Unsent } from './0016-unsent.ts';
import { Migration0018Accounts } from './0018-accounts.ts';
import { Migration0019TokenOrganizations } from './0019-token-organizations.ts';
import { Migration0020RefusedMails } from './0020-refused-mails.ts';
import { Migration0021NativeEvents } from './0021-native-events.ts';
import { Migration0022Moves } from './0022-moves.ts';
import { Migration0023TimeZones } from './0023-time-zones.ts';
import { Migration0024RoleNames } from './0024-role-names.ts';
import { FOLDED_SEARCH, Migration0025FoldedSearch } from './0025-folded-search.ts';
import { Migration0027RefusedRow } from './0027-refused-row.ts';
import { Migration0028SmtpOauth } from './0028-smtp-oauth.ts';
import { Migration0200Reasons } from './0200-reasons.ts';
import { Migration0201Images } from './0201-images.ts';
import { Migration0202Windows, WINDOWS } from './0202-windows.ts';
import { Migration0203TakenBack } from './0203-taken-back.ts';
import { Migration0204GrantMoments } from './0204-grant-moments.ts';

/** Every migration, in order. A name, once released, never changes: databases remember it. */
export const MIGRATIONS = [
  { name: '0001-policy', class: Migration0001Policy },
  { name: '0002-people', class: Migration0002People },
  { name: '0003-notifications', class: Migration0003Notifications },
  { name: '0004-inbox-words', class: Migration0004InboxWords },
  { name: '0005-own-names', class: Migration0005OwnNames },
  { name: '0006-strict-codes', class: Migration0006StrictCodes },
  { name: '0008-override-resources', class: Migration0008OverrideResources },
  { name: '0009-panel-lists', class: Migration0009PanelLists },
  { name: '0010-operations', class: Migration0010Operations },
  { name: '0011-entity-list-search', class: Migration0011EntityListSearch },
  { name: '0012-erasure', class: Migration0012Erasure },
  { name: '0014-reconciliation', class: Migration0014Reconciliation },
  { name: '0015-partitions', class: Migration0015Partitions },
  { name: '0016-unsent', class: Migration0016Unsent },
  { name: '0018-accounts', class: Migration0018Accounts },
  { name: '0019-token-organizations', class: Migration0019TokenOrganizations },
  { name: '0020-refused-mails', class: Migration0020RefusedMails },
  { name: '0021-native-events', class: Migration0021NativeEvents },
  { name: '0022-moves', class: Migration0022Moves },
  { name: '0023-time-zones', class: Migration0023TimeZones },
  { name: '0024-role-names', class: Migration0024RoleNames },
  { name: FOLDED_SEARCH, class: Migration0025FoldedSearch },
  { name: '0027-refused-row', class: Migration0027RefusedRow },
  { name: '0028-smtp-oauth', class: Migration0028SmtpOauth },
  { name: '0200-reasons', class: Migration0200Reasons },
  { name: '0201-images', class: Migration0201Images },
  { name: WINDOWS, class: Migration0202Windows },
  { name: '0203-taken-back', class: Migration0203TakenBack },
  { name: '0204-grant-moments', class: Migration0204GrantMoments },
];
