/** The two times that every record of the registry carries. */
export const STAMPS = `created_at timestamptz(3) not null default now(), updated_at timestamptz(3) not null default now()`;
