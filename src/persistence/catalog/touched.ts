/** A manifest's plan was made on locked rows: a statement of it that touches another number of rows is a defect. */
export function expectRows(
  { numAffectedRows }: { readonly numAffectedRows?: bigint },
  rows: number,
  what: string,
): void {
  if (Number(numAffectedRows ?? -1) !== rows) {
    throw new Error(`a manifest's ${what} touched ${numAffectedRows} rows instead of ${rows}`);
  }
}
