import { Route, Switch } from 'wouter';
import type { ViewProps } from '../view-props.ts';
import { TemplatePage } from './template-page.tsx';
import { Types } from './types.tsx';

/** What an application tells people: types, and the templates of each. */
export default function Messages(props: ViewProps) {
  return (
    <Switch>
      <Route path="/applications/:appCode/messages/:type/:key/:locale">
        {({ type, key, locale }) => {
          const [of = '', variant = '', language = ''] = [type, key, locale].map(decodeURIComponent);
          const place = { type: of, variant, locale: language };
          return <TemplatePage key={`${type}/${key}/${locale}`} {...props} {...place} />;
        }}
      </Route>
      <Route>
        <Types {...props} />
      </Route>
    </Switch>
  );
}
