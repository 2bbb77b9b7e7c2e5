import { renderToString } from 'react-dom/server';
import { App, misspelt, nameless } from './app.tsx';

export const html = renderToString(<App token="a.b.c" />);

/** What a page gets that asks for something else than a question, without a compiler. */
export const refusals = [misspelt, nameless].map((page) => {
  try {
    return renderToString(page);
  } catch (error) {
    return String(error);
  }
});
