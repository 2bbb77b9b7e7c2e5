/** The pictures of the places: one path each, of 16 by 16, in the color of the text. */

const PATHS = {
  home: 'M2.5 7 8 2.5 13.5 7v6.5h-4v-4h-3v4h-4z',
  applications: 'M2.5 2.5h4.5v4.5H2.5zM9 2.5h4.5v4.5H9zM2.5 9h4.5v4.5H2.5zM9 9h4.5v4.5H9z',
  people:
    'M6 7.5a2.5 2.5 0 1 0 0-5 2.5 2.5 0 0 0 0 5zM1.5 13.5a4.5 4.5 0 0 1 9 0M11 7.5a2 2 0 1 0 0-4M12 9.5a4 4 0 0 1 2.5 4',
  ask: 'M8 13.5a5.5 5.5 0 1 0-4.8-2.8L2.5 13.5zM6.3 6.3a1.7 1.7 0 1 1 2.4 1.6c-.5.2-.7.5-.7 1M8 10.9v.1',
  activity: 'M1.5 8.5h3l2-5 3 9 2-4h3',
  notifications: 'M4 11.5V7a4 4 0 0 1 8 0v4.5l1 1H3zM6.8 14.2a1.4 1.4 0 0 0 2.4 0',
  brands:
    'M8 2.5a5.5 5.5 0 1 0 0 11c1 0 1.3-.7 1-1.4-.4-1 .2-1.9 1.3-1.9h1.4c1 0 1.8-.7 1.8-1.9C13.5 5 11 2.5 8 2.5zM5 8.2v.1M6.6 5.4v.1M9.8 5.4v.1',
  signIn: 'M6.5 2.5h6v11h-6M2.5 8h7M7 5.5 9.5 8 7 10.5',
  settings:
    'M2 4.5h7M12 4.5h2M2 11.5h2M7 11.5h7M10.5 6a1.5 1.5 0 1 0 0-3 1.5 1.5 0 0 0 0 3zM5.5 13a1.5 1.5 0 1 0 0-3 1.5 1.5 0 0 0 0 3z',
  mailbox: 'M2 4h12v8.5H2zM2 4.5l6 4.5 6-4.5',
} as const;

export type IconName = keyof typeof PATHS;

export function Icon({ name }: { name: IconName }) {
  return (
    <svg
      width="16"
      height="16"
      viewBox="0 0 16 16"
      fill="none"
      stroke="currentColor"
      strokeWidth="1.4"
      strokeLinecap="round"
      strokeLinejoin="round"
      aria-hidden="true"
    >
      <path d={PATHS[name]} />
    </svg>
  );
}
