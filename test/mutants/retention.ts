// biome-ignore-all lint/suspicious/noTemplateCurlyInString: they stand in the code that is searched.
import { type Mutant, mutant } from './mutant.ts';

const PARTITIONS = 'persistence/operations/partitions.ts';

/** What retention drops, what it keeps, and where new rows go. */
export const RETENTION: readonly Mutant[] = [
  mutant(
    'a partition ends with its oldest row',
    PARTITIONS,
    'order by ${by} desc limit 1`',
    'order by ${by} limit 1`',
    'retention/retention',
  ),
  mutant(
    'rows end a day early, while their transaction may be open',
    PARTITIONS,
    'const SLACK_DAYS = 1;',
    'const SLACK_DAYS = 0;',
    'retention/retention',
  ),
  mutant(
    'deliveries that wait are dropped',
    PARTITIONS,
    "'due_at is not null')) return 'waiting';",
    "'due_at is not null and false')) return 'waiting';",
    'retention/retention',
  ),
  mutant(
    'a notification ends while a delivery of it waits',
    PARTITIONS,
    "[partition, ...also].filter((one) => one.table === 'delivery')",
    "[partition].filter((one) => one.table === 'delivery')",
    'retention/retention',
  ),
  mutant(
    'a notification leaves its deliveries behind',
    PARTITIONS,
    "one.table === 'delivery' && one.number === number",
    "one.table === 'delivery' && one.number < 0 && number > 0",
    'retention/retention',
  ),
  mutant(
    'deliveries are kept for as long as notifications',
    PARTITIONS,
    'delivery: keep.deliveries,',
    'delivery: keep.notifications,',
    'retention/retention',
  ),
  mutant(
    'unread notifications end with the others where no limit is set for them',
    PARTITIONS,
    '(unreadDays === null || newest?.unread === true)',
    '(unreadDays !== null && newest?.unread === true)',
    'retention/retention',
  ),
  mutant(
    'the partition that new rows go to is dropped',
    PARTITIONS,
    'number < current)',
    'number <= current)',
    'retention/retention',
  ),
  mutant(
    'what has changed before the lock is dropped all the same',
    PARTITIONS,
    "if (under !== 'expired') return { detached: [], held: under };",
    '',
    'retention/guards',
  ),
  mutant(
    'new rows are sent to a partition that is not there',
    PARTITIONS,
    'if (!tables.every((table) => known.has(`${table}_p${number + 1}`))) return false;',
    '',
    'retention/guards',
  ),
  mutant(
    'new rows never go to another partition with time',
    PARTITIONS,
    'if (!(rows[0]?.due || used > 0.5)) return false;',
    'if (!(used > 0.5)) return false;',
    'retention/retention',
  ),
  mutant(
    'a partition is dropped by two at once',
    PARTITIONS,
    ' and pg_try_advisory_xact_lock(${DROP_LOCK}, hashtext(${name}))`',
    '`',
    'retention/beside',
  ),
  mutant(
    'a start leaves new rows without a partition',
    'retention/retention.ts',
    'this.#looking = this.#makeMissing().then(',
    'this.#looking = Promise.resolve().then(',
    'retention/restored',
  ),
];
