/** How the commands of this installation are typed: every message that names a command is built here. */

/** Sources run in their repository, by npm; a build runs as the `usher` of its package. */
const FROM_SOURCES = import.meta.url.endsWith('.ts');

/** The whole command line for `usher ARGS`, as a person types it for this kind of installation. */
export function usherCommand(args: string, fromSources = FROM_SOURCES): string {
  if (!fromSources) return `usher ${args}`;
  return args === 'serve' ? 'npm start' : `npm run --silent usher -- ${args}`;
}

/** Builds the panel: in a repository alone, because a package comes with the built files. */
export const BUILD_PANEL = 'npm run panel';
