import { lazy, Suspense, useState } from 'react';
import { Link, Route, Switch } from 'wouter';
import { asError } from '../../api/error.ts';
import { useRead } from '../../api/queries.ts';
import { Badge } from '../../parts/badge.tsx';
import { Button } from '../../parts/button.tsx';
import { useFilters } from '../../parts/filters.ts';
import { Empty, Facts, Page } from '../../parts/page.tsx';
import { Loading, Problem } from '../../parts/problem.tsx';
import { SearchField } from '../../parts/search-field.tsx';
import { Toolbar } from '../../parts/toolbar.tsx';
import { useAction } from '../../shell/actions.ts';
import { useRights } from '../../shell/rights.ts';
import { useWords } from '../../words/words.ts';
import css from './brands.module.css';
import { CreateBrand } from './create-brand.tsx';
import { LookCard } from './look-card.tsx';

const BrandForm = lazy(async () => ({ default: (await import('./brand-form.tsx')).BrandForm }));

/** The brands: SuperAdmins change them, every other administrator sees how they look. */
export default function Brands() {
  return (
    <Switch>
      <Route path="/brands" component={Gallery} />
      <Route path="/brands/:slug">{({ slug }) => <OneBrand key={slug} slug={decodeURIComponent(slug)} />}</Route>
    </Switch>
  );
}

/** The brands as the reader may see them; whether one is the default is for SuperAdmins. */
function useBrands() {
  const { isSuperAdmin } = useRights();
  const whole = useRead('GET /api/admin/brands', {}, { enabled: isSuperAdmin });
  const looks = useRead('GET /api/brands', {}, { enabled: !isSuperAdmin });
  const asked = isSuperAdmin ? whole : looks;
  const brands = isSuperAdmin
    ? (whole.data?.data ?? [])
    : (looks.data?.data ?? []).map((look) => ({ ...look, isDefault: false }));
  return { asked, brands, whole: whole.data?.data ?? [] };
}

function Gallery() {
  const { brands: words, common } = useWords();
  const { isSuperAdmin } = useRights();
  const { asked, brands } = useBrands();
  const { values, set } = useFilters({ q: '' });
  const [creating, setCreating] = useState(false);
  useAction(isSuperAdmin ? words.create : null, () => setCreating(true));
  const wanted = values.q.toLowerCase();
  const found = brands.filter(({ slug, name }) => `${slug}\n${name}`.toLowerCase().includes(wanted));
  return (
    <Page
      title={words.title}
      lead={words.lead}
      readOnly={!isSuperAdmin}
      actions={
        isSuperAdmin && (
          <Button kind="primary" onClick={() => setCreating(true)}>
            {words.create}
          </Button>
        )
      }
    >
      {brands.length > 6 && (
        <Toolbar>
          <SearchField label={common.search} value={values.q} onText={(q) => set({ q })} />
        </Toolbar>
      )}
      {asked.isPending && <Loading rows={5} />}
      {asked.isError && <Problem error={asError(asked.error)} onRetry={() => void asked.refetch()} />}
      {asked.isSuccess && found.length === 0 && <Empty title={brands.length > 0 ? common.noMatch : common.empty} />}
      <ul className={css.gallery}>
        {found.map((brand) => (
          <li key={brand.slug}>
            <div className={css.pair}>
              <LookCard look={brand} name={brand.name} dark={false} />
              <LookCard look={brand} name={brand.name} dark />
            </div>
            <div className={css.caption}>
              <Link href={`/brands/${encodeURIComponent(brand.slug)}`}>{brand.name}</Link>
              <code>{brand.slug}</code>
              {brand.isDefault && (
                <Badge tone="accent" title={words.defaultWhy}>
                  {words.defaultBadge}
                </Badge>
              )}
            </div>
          </li>
        ))}
      </ul>
      {isSuperAdmin && <p className={css.soft}>{words.defaultWhy}</p>}
      {creating && <CreateBrand onClose={() => setCreating(false)} />}
    </Page>
  );
}

function OneBrand({ slug }: { slug: string }) {
  const { brands: words } = useWords();
  const { asked, brands, whole } = useBrands();
  const mine = whole.find((brand) => brand.slug === slug);
  const look = brands.find((brand) => brand.slug === slug);
  const trail = [['/brands', words.title] as const];
  if (asked.isPending) return <Loading rows={6} />;
  if (mine !== undefined) {
    return (
      <Suspense fallback={<Loading rows={6} />}>
        <BrandForm key={mine.id} brand={mine} />
      </Suspense>
    );
  }
  if (look === undefined) {
    return (
      <Page title={slug} trail={trail}>
        {asked.isError ? (
          <Problem error={asError(asked.error)} onRetry={() => void asked.refetch()} />
        ) : (
          <Empty title={words.unknown} />
        )}
      </Page>
    );
  }
  return (
    <Page title={look.name} lead={words.lookOnly} trail={trail} readOnly>
      <div className={css.pair}>
        <LookCard look={look} name={look.name} dark={false} />
        <LookCard look={look} name={look.name} dark />
      </div>
      <Facts
        facts={[
          [words.slug, <code key="slug">{look.slug}</code>],
          [words.primaryColor, look.primaryColor ?? words.none],
          [words.backgroundColor, look.backgroundColor ?? words.none],
          [words.logoUrl, look.logoUrl ?? words.none],
        ]}
      />
    </Page>
  );
}
