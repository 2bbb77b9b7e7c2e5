import { call } from '../../api/call.ts';
import { asError } from '../../api/error.ts';
import { refuse } from '../../api/merge.ts';
import { useRead } from '../../api/queries.ts';
import { useWrite } from '../../api/writes.ts';
import { Button } from '../../parts/button.tsx';
import { faultOf, SelectField, TextField } from '../../parts/field.tsx';
import { Card, Facts } from '../../parts/page.tsx';
import { Loading, Problem } from '../../parts/problem.tsx';
import { useKeptDraft } from '../../shell/drafts.ts';
import { DENSITIES, type Density, prefer, THEMES, type Theme, usePreferences } from '../../shell/preferences.ts';
import { LANGUAGES, type Language, useWords } from '../../words/words.ts';
import {
  changesOf,
  isChanged,
  type Profile,
  type ProfileDraft,
  type ProfileField,
  rivals,
  shownOf,
} from './profile-draft.ts';
import css from './settings.module.css';

/** What the panel looks like in this browser, and the person's own profile. */
export default function Own() {
  return (
    <div className={css.cards}>
      <Appearance />
      <OwnProfile />
    </div>
  );
}

function Appearance() {
  const { settings: words, shell } = useWords();
  const { language, theme, density } = usePreferences();
  return (
    <Card title={words.appearance}>
      <p className={css.soft}>{words.appearanceWhy}</p>
      <SelectField
        label={shell.language}
        value={language}
        options={Object.entries(LANGUAGES)}
        onText={(value) => prefer({ language: value as Language })}
      />
      <SelectField
        label={shell.theme}
        value={theme}
        options={THEMES.map((one) => [one, shell.themes[one]] as const)}
        onText={(value) => prefer({ theme: value as Theme })}
      />
      <SelectField
        label={shell.density}
        value={density}
        options={DENSITIES.map((one) => [one, shell.densities[one]] as const)}
        onText={(value) => prefer({ density: value as Density })}
      />
    </Card>
  );
}

function OwnProfile() {
  const { settings: words } = useWords();
  const profile = useRead('GET /api/profile/me', {});
  return (
    <Card title={words.profile}>
      {profile.isPending && <Loading rows={6} />}
      {profile.isError && profile.data === undefined && (
        <Problem error={asError(profile.error)} onRetry={() => void profile.refetch()} />
      )}
      {profile.data !== undefined && <ProfileForm profile={profile.data.data} />}
    </Card>
  );
}

function ProfileForm({ profile }: { profile: Profile }) {
  const { settings: words, common, people } = useWords();
  const [kept, keep] = useKeptDraft<{ readonly base: Profile; readonly draft: ProfileDraft }>('profile');
  const { base, draft } = kept ?? { base: profile, draft: {} };
  const languages = useRead('GET /api/languages', {});
  const writing = useWrite({ done: common.saved, refreshes: ['/api/profile', '/api/users'] });
  const save = async (): Promise<void> => {
    const saved = await writing.run(async () => {
      const { data: now } = await call('GET /api/profile/me', {});
      keep({ base: now, draft });
      const { firstName, lastName, avatarUrl, mailLanguage: locale } = words;
      const { displayName, timezone, brand } = people;
      refuse(rivals(base, draft, now), now, { firstName, lastName, displayName, avatarUrl, locale, timezone, brand });
      return await call('PUT /api/profile/me', { body: changesOf(now, draft) });
    });
    if (saved) keep(null);
  };
  const field = (name: ProfileField) => ({
    value: shownOf(profile, draft, name),
    fault: faultOf(writing.error, name),
    onText: (value: string) => keep({ base, draft: { ...draft, [name]: value } }),
  });
  const isFaulty = (Object.keys(draft) as ProfileField[]).some((name) => faultOf(writing.error, name) !== null);
  return (
    <form
      className={css.form}
      onSubmit={(event) => {
        event.preventDefault();
        void save();
      }}
    >
      <Facts
        facts={[
          [common.email, profile.email],
          // Of the signed-in person only: the provider knows no address of somebody else's page.
          ...(profile.identityProfileUrl === null
            ? []
            : ([
                [
                  words.atProvider,
                  <a key="provider" href={profile.identityProfileUrl}>
                    {words.openAccount}
                  </a>,
                ],
              ] as const)),
        ]}
      />
      <div className={css.pair}>
        <TextField label={words.firstName} autoComplete="given-name" {...field('firstName')} />
        <TextField label={words.lastName} autoComplete="family-name" {...field('lastName')} />
      </div>
      <TextField label={people.displayName} autoComplete="nickname" {...field('displayName')} />
      <TextField label={words.avatarUrl} type="url" placeholder="https://" {...field('avatarUrl')} />
      <SelectField
        label={words.mailLanguage}
        hint={words.mailLanguageWhy}
        options={[
          ['', people.byApplication],
          ...(languages.data?.data ?? []).map(({ code, nativeName }) => [code, nativeName] as const),
        ]}
        {...field('locale')}
      />
      <TextField label={people.timezone} placeholder="Europe/Prague" hint={words.timezoneWhy} {...field('timezone')} />
      {!isFaulty && <Problem error={writing.error} />}
      <div className={css.acts}>
        {isChanged(profile, draft) && <Button onClick={() => keep(null)}>{common.discard}</Button>}
        <Button
          kind="primary"
          type="submit"
          busy={writing.busy}
          disabled={!isChanged(profile, draft) && common.missing.change}
        >
          {common.save}
        </Button>
      </div>
    </form>
  );
}
