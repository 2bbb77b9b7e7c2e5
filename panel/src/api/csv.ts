/** Tables as files for spreadsheets (RFC 4180). */

/** What a spreadsheet takes for a formula: such a cell is text with an apostrophe before it. */
const FORMULA = /^[\t\r\n ]*[=+\-@]/;

export type Cell = string | number | boolean | null | undefined;

export function csvOf(rows: readonly (readonly Cell[])[]): string {
  return rows.map((row) => row.map(cellOf).join(',')).join('\r\n');
}

function cellOf(value: Cell): string {
  const plain = value === null || value === undefined ? '' : String(value);
  // A number cannot be a formula.
  const text = typeof value !== 'number' && FORMULA.test(plain) ? `'${plain}` : plain;
  return /[",\r\n]/.test(text) ? `"${text.replaceAll('"', '""')}"` : text;
}

/** Saves a table. Spreadsheets read a file as UTF-8 only with its mark in front. */
export function saveCsv(name: string, rows: readonly (readonly Cell[])[]): void {
  saveFile(name, `\ufeff${csvOf(rows)}`, 'text/csv;charset=utf-8');
}

/** Offers the browser a file to save. */
export function saveFile(name: string, content: string, type: string): void {
  const url = URL.createObjectURL(new Blob([content], { type }));
  const link = document.createElement('a');
  link.href = url;
  link.download = name;
  link.click();
  URL.revokeObjectURL(url);
}
