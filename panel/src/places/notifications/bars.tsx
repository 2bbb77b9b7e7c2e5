import { useFormats, useWords } from '../../words/words.ts';
import css from './bars.module.css';
import { type Bar, ceilingOf } from './stats.ts';

/** The width of a bar and of its gap, in units of the drawing, which is stretched to its frame. */
const STEP = 10;
const BAR = 7;
const HEIGHT = 100;

/** What arrived and what did not, by the hour. A screen reader gets a table of the hours in which something happened. */
export function Bars({ bars }: { bars: readonly Bar[] }) {
  const { notifications: words } = useWords();
  const formats = useFormats();
  const top = ceilingOf(bars);
  const heightOf = (count: number) => (count / top) * HEIGHT;
  const told = bars.filter(({ sent, failed }) => sent + failed > 0);
  const first = bars[0];
  const middle = bars[Math.floor(bars.length / 2)];
  return (
    <figure className={css.figure}>
      <div className={css.scale} aria-hidden="true">
        <span>{formats.number(top)}</span>
        <span>0</span>
      </div>
      <svg
        className={css.chart}
        viewBox={`0 0 ${bars.length * STEP} ${HEIGHT}`}
        preserveAspectRatio="none"
        aria-hidden="true"
      >
        {bars.map(({ hour, sent, failed }, at) => (
          <g key={hour}>
            <title>{`${formats.moment(hour)}: ${words.arrived(sent)}, ${words.missed(failed)}`}</title>
            <rect className={css.ground} x={at * STEP} y={0} width={STEP} height={HEIGHT} />
            <rect className={css.sent} x={at * STEP} y={HEIGHT - heightOf(sent)} width={BAR} height={heightOf(sent)} />
            <rect
              className={css.failed}
              x={at * STEP}
              y={HEIGHT - heightOf(sent) - heightOf(failed)}
              width={BAR}
              height={heightOf(failed)}
            />
          </g>
        ))}
      </svg>
      <div className={css.axis} aria-hidden="true">
        <span>{first && formats.moment(first.hour)}</span>
        <span className={css.middle}>{middle && formats.moment(middle.hour)}</span>
        <span>{words.now}</span>
      </div>
      {/* A table is never narrower than its words: its frame is. */}
      <div className="visually-hidden">
        <table>
          <caption>{words.byHour}</caption>
          <thead>
            <tr>
              <th scope="col">{words.hour}</th>
              <th scope="col">{words.outcomes.sent}</th>
              <th scope="col">{words.outcomes.failed}</th>
            </tr>
          </thead>
          <tbody>
            {told.map(({ hour, sent, failed }) => (
              <tr key={hour}>
                <th scope="row">{formats.moment(hour)}</th>
                <td>{formats.number(sent)}</td>
                <td>{formats.number(failed)}</td>
              </tr>
            ))}
          </tbody>
        </table>
      </div>
    </figure>
  );
}
