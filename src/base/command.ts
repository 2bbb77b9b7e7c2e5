/** How the commands of this installation are typed: every message that names one asks here. */

/** The sources run in their repository, by npm; what is built runs by the `usher` of the package. */
const FROM_SOURCES = import.meta.url.endsWith('.ts');

/** The whole line for `usher ARGS`, as somebody types it who runs this program as it runs now. */
export function usherCommand(args: string, fromSources = FROM_SOURCES): string {
  if (!fromSources) return `usher ${args}`;
  return args === 'serve' ? 'npm start' : `npm run --silent usher -- ${args}`;
}
