import { useWords } from '../words/words.ts';
import { Empty } from './page.tsx';

/** At an address below a place that leads to none of its views: mistyped, or of another version. */
export function UnknownView() {
  return <Empty title={useWords().shell.unknownPage} />;
}
