/** `toString('latin1')` calls `latin1Slice` after reading its argument, and `write` the other; these are on the path of every call. */
type Latin1Buffer = Buffer & {
  latin1Slice(start: number, end: number): string;
  latin1Write(text: string, at: number): number;
};

/** A part of the bytes as text: one character a byte. */
export function readLatin1(bytes: Buffer, start: number, end: number): string {
  return (bytes as Latin1Buffer).latin1Slice(start, end);
}

/** Writes text whose characters are one byte each. Returns its length. */
export function writeLatin1(bytes: Buffer, text: string, at: number): number {
  return (bytes as Latin1Buffer).latin1Write(text, at);
}
