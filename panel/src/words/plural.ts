/** Forms of a word by number, as Intl.PluralRules names them. */

type Forms = { readonly other: string } & { readonly [F in Intl.LDMLPluralRule]?: string };

export function plural(locale: string): (n: number, forms: Forms) => string {
  const rules = new Intl.PluralRules(locale);
  return (n, forms) => forms[rules.select(n)] ?? forms.other;
}
