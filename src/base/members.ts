/** Reading values whose type nobody has promised: thrown ones, parsed ones, those of packages without types. */

type Members = Readonly<Record<string, unknown>>;

export function hasMembers(value: unknown): value is Members {
  return typeof value === 'object' && value !== null;
}

/** Empty for a value without members. */
export function membersOf(value: unknown): Members {
  return hasMembers(value) ? value : {};
}

/** The `code` of an error of the system or of a package: `ENOENT`, for example. */
export function codeOf(error: unknown): string | undefined {
  const { code } = membersOf(error);
  return typeof code === 'string' ? code : undefined;
}
