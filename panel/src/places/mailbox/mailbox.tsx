import { Link, Route, Switch } from 'wouter';
import { Standalone } from '../../parts/standalone.tsx';
import { useSession } from '../../session/session.ts';
import { useWords } from '../../words/words.ts';
import { MailList } from './mail-list.tsx';
import { MailView } from './mail-view.tsx';

/** The development mailbox, for everybody at this machine: signed out it is a page of its own. */
export default function Mailbox() {
  const { mailbox: words } = useWords();
  const { kind } = useSession();
  const views = (
    <Switch>
      <Route path="/mailbox" component={MailList} />
      <Route path="/mailbox/:id">{({ id }) => <MailView key={id} id={id} />}</Route>
    </Switch>
  );
  if (kind === 'in') return views;
  const aside = (
    <span>
      {words.signedOut} <Link href="/">{words.signIn}</Link>
    </span>
  );
  return <Standalone aside={aside}>{views}</Standalone>;
}
