import { Dialog } from '../parts/dialog.tsx';
import type { PanelConfig } from '../session/config.ts';
import { useWords } from '../words/words.ts';
import css from './key-list.module.css';
import { PLACES, titleOf } from './places.ts';
import { useRights } from './rights.ts';

export function KeyList({ config, onClose }: { config: PanelConfig; onClose: () => void }) {
  const words = useWords();
  const rights = useRights();
  const { keys, keyGroups, keyNames } = words.shell;
  const groups: readonly (readonly [string, readonly (readonly [string, string])[]])[] = [
    [
      keyGroups.everywhere,
      [
        ['⌘K  /', keyNames.palette],
        ['~', keyNames.inspect],
        ['?', keyNames.keys],
        ['Esc', keyNames.back],
      ],
    ],
    [
      keyGroups.place,
      PLACES.filter((place) => place.visible(rights, config)).map(
        (place) => [`g ${place.key}`, titleOf(place, words)] as const,
      ),
    ],
    [
      keyGroups.list,
      [
        ['f', keyNames.filter],
        ['j  ↓', keyNames.next],
        ['k  ↑', keyNames.previous],
        ['Enter', keyNames.open],
      ],
    ],
  ];
  return (
    <Dialog title={keys} onClose={onClose}>
      {groups.map(([title, of]) => (
        <section key={title}>
          <h3>{title}</h3>
          <dl className={css.keys}>
            {of.map(([key, name]) => (
              <div key={key}>
                <dt>{name}</dt>
                <dd>
                  {key.split('  ').map((one) => (
                    <kbd key={one}>{one}</kbd>
                  ))}
                </dd>
              </div>
            ))}
          </dl>
        </section>
      ))}
    </Dialog>
  );
}
