import { lazy, Suspense } from 'react';
import { Route, Switch } from 'wouter';
import { asError } from '../../../api/error.ts';
import { useRead } from '../../../api/queries.ts';
import { Loading, Problem } from '../../../parts/problem.tsx';
import { mayWriteIn } from '../../../shell/panel-app.ts';
import { useRights } from '../../../shell/rights.ts';
import type { ViewProps } from '../view-props.ts';
import { MatrixView } from './matrix-view.tsx';

const RolePage = lazy(() => import('./role-page.tsx'));

/** What roles grant, and each of the roles. */
export default function Matrix(props: ViewProps) {
  const { appCode } = props;
  const defines = mayWriteIn(useRights(), appCode);
  const matrix = useRead('GET /api/applications/{appCode}/matrix', { path: { appCode } });
  if (matrix.data === undefined) {
    if (matrix.isPending) return <Loading rows={8} />;
    return <Problem error={asError(matrix.error)} onRetry={() => void matrix.refetch()} />;
  }
  const answer = matrix.data;
  return (
    <Switch>
      <Route path="/applications/:appCode/matrix/:roleCode">
        {({ roleCode }) => (
          <Suspense fallback={<Loading />}>
            <RolePage
              key={roleCode}
              {...props}
              roleCode={decodeURIComponent(roleCode)}
              matrix={answer.data}
              defines={defines}
            />
          </Suspense>
        )}
      </Route>
      <Route>
        <MatrixView
          {...props}
          mayEdit={defines}
          matrix={answer.data}
          etag={answer.etag}
          onLookAgain={() => void matrix.refetch()}
        />
      </Route>
    </Switch>
  );
}
