import { Page } from '../../parts/page.tsx';
import { useWords } from '../../words/words.ts';

export default function SignInPlace() {
  const { signIn: words } = useWords();
  return <Page title={words.title}>{null}</Page>;
}
