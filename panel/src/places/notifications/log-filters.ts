/** What the log of notifications is narrowed by, and what each is at first. */
export const LOG_FILTERS = { status: '', type: '', app: '', email: '', hours: '24', brand: '', channel: '' };
export type LogFilters = Readonly<Record<keyof typeof LOG_FILTERS, string>>;
