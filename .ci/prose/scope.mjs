/** The code whose comments and messages are held to habits.yml and to the dictionary. */
export const MENDED = ['src/', 'packages/'];
