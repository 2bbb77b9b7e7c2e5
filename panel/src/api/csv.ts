/** Tables as files for spreadsheets (RFC 4180). */

/**
 * Where a spreadsheet may see a formula: at the beginning of a cell, and behind what separates cells where the list separator is
 * a semicolon, as in Czech. An apostrophe before it makes it a text.
 */
const FORMULAS = /(^|[;\t\r\n])([\t\r\n ]*[=+\-@])/g;

export type Cell = string | number | boolean | null | undefined;

export function csvOf(rows: readonly (readonly Cell[])[]): string {
  return rows.map((row) => row.map(cellOf).join(',')).join('\r\n');
}

function cellOf(value: Cell): string {
  const plain = value === null || value === undefined ? '' : String(value);
  // A number cannot be a formula.
  const text = typeof value === 'number' ? plain : plain.replaceAll(FORMULAS, "$1'$2");
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
