/** The signed-in person's profile as a form: texts, and the body of the write that makes them true. */

import type { Input, Out } from '../../../../src/gen/api.ts';

export type Profile = Out<'GET /api/profile/me'>;
type Body = Input<'PUT /api/profile/me'>['body'];

const PROFILE_FIELDS = ['firstName', 'lastName', 'displayName', 'avatarUrl', 'locale', 'timezone', 'brand'] as const;
export type ProfileField = (typeof PROFILE_FIELDS)[number];
/** What was typed, over what is stored. */
export type ProfileDraft = Partial<Record<ProfileField, string>>;

export function shownOf(profile: Profile, draft: ProfileDraft, field: ProfileField): string {
  return draft[field] ?? profile[field] ?? '';
}

/** Only what differs, so that a name changed elsewhere meanwhile stays. An emptied field is null: the default holds. */
export function changesOf(profile: Profile, draft: ProfileDraft): Body {
  const body: Partial<Record<ProfileField, string | null>> = {};
  for (const field of PROFILE_FIELDS) {
    const value = draft[field]?.trim();
    if (value === undefined || value === (profile[field] ?? '')) continue;
    body[field] = value === '' ? null : value;
  }
  return body;
}

/** Fields of the draft that somebody else, such as the provider, has changed to something else since `base` was read. */
export function rivals(base: Profile, draft: ProfileDraft, now: Profile): readonly ProfileField[] {
  const mine = Object.keys(changesOf(now, draft)) as ProfileField[];
  return mine.filter((field) => base[field] !== now[field]);
}

export function isChanged(profile: Profile, draft: ProfileDraft): boolean {
  return Object.keys(changesOf(profile, draft)).length > 0;
}
