import type { Outcome } from './run.ts';

/** The outcomes as JUnit XML, as CI systems read it: a suite a file, a case a test. */
export function toJunit(outcomes: readonly Outcome[]): string {
  const suites = [...Map.groupBy(outcomes, ({ file }) => file)].map(([file, cases]) => {
    const failures = cases.filter(({ passed }) => !passed).length;
    const attributes = `name="${escaped(file)}" tests="${cases.length}" failures="${failures}"`;
    return [`  <testsuite ${attributes}>`, ...cases.map(toCase), '  </testsuite>'].join('\n');
  });
  return ['<?xml version="1.0" encoding="UTF-8"?>', '<testsuites>', ...suites, '</testsuites>', ''].join('\n');
}

function toCase({ file, name, message, explanation }: Outcome): string {
  const head = `    <testcase classname="${escaped(file)}" name="${escaped(name)}"`;
  if (message === null) return `${head}/>`;
  const failure = `<failure message="${escaped(message)}">${escaped(explanation.join('\n'))}</failure>`;
  return `${head}>${failure}</testcase>`;
}

/** XML 1.0 has no way to write most control characters and lone surrogates: they become U+FFFD. */
function escaped(text: string): string {
  return text
    .toWellFormed()
    .replace(/[^\t\n\r\x20-\u{d7ff}\u{e000}-\u{fffd}\u{10000}-\u{10ffff}]/gu, '\u{fffd}')
    .replace(/[&<>"]/g, (character) => `&#${character.charCodeAt(0)};`);
}
