import { Link, Route, Switch, useLocation } from 'wouter';
import { samePath } from '../../../parts/path.ts';
import { useWords } from '../../../words/words.ts';
import type { ViewProps } from '../view-props.ts';
import { Entities } from './entities.tsx';
import { Overrides } from './overrides.tsx';
import { RecordPage } from './record-page.tsx';
import css from './records.module.css';

/** The records of an application: exceptions for them, and the kinds that there are. */
export default function Records(props: ViewProps) {
  const { records: words } = useWords().applications;
  const [path] = useLocation();
  const base = `/applications/${encodeURIComponent(props.appCode)}/records`;
  const views = [
    [base, words.overrides],
    [`${base}/entities`, words.entities],
  ] as const;
  return (
    <div className={css.section}>
      <nav className={css.switcher} aria-label={words.title}>
        {views.map(([href, label]) => (
          <Link key={href} href={href} aria-current={samePath(path) === samePath(href) ? 'page' : undefined}>
            {label}
          </Link>
        ))}
      </nav>
      <Switch>
        <Route path="/applications/:appCode/records/entities">
          <Entities {...props} />
        </Route>
        <Route path="/applications/:appCode/records/of/:type/:id">
          {({ type, id }) => <RecordPage {...props} type={decodeURIComponent(type)} id={decodeURIComponent(id)} />}
        </Route>
        <Route>
          <p className={css.lead}>{words.overridesLead}</p>
          <Overrides {...props} />
        </Route>
      </Switch>
    </div>
  );
}
