/** The registry of languages (docs/reference/administration.md#languages). */

import { z } from 'zod';
import { languageCode, name } from '../route/fields.ts';
import { signedIn, superAdmin } from '../route/guards.ts';
import { record } from '../route/record.ts';
import { answer, defineRoute, type Route } from '../route/route.ts';

const Language = record('Language', {
  code: z.string(),
  name: z.string(),
  nativeName: z.string(),
  fallback: z.string().nullable().meta({ description: 'The language to try next.' }),
});

const fallback = languageCode.nullable().optional();

const LanguageParams = z.strictObject({ code: z.string().meta({ description: "The language's code." }) });

const listLanguages = defineRoute({
  method: 'get',
  path: '/api/languages',
  operation: 'listLanguages',
  tag: 'Languages',
  summary: 'All languages',
  guard: signedIn,
  response: z.array(Language),
  handle: ({ languages }) => languages.list(),
});

const createLanguage = defineRoute({
  method: 'post',
  path: '/api/languages',
  operation: 'createLanguage',
  tag: 'Languages',
  summary: 'Add a language',
  guard: superAdmin,
  refusal: 'language.created.refused',
  body: z.strictObject({ code: languageCode, name, nativeName: name, fallback }),
  status: 201,
  response: Language,
  errors: ['ALREADY_EXISTS', 'UNKNOWN_LANGUAGES'],
  example: { body: { code: 'pt-br', name: 'Portuguese (Brazil)', nativeName: 'Português do Brasil', fallback: 'pt' } },
  handle: async ({ languages }, input) => {
    const { result } = await languages.create({ ...input.body, fallback: input.body.fallback ?? null }, input);
    return answer(result, { location: `/api/languages/${result.code}` });
  },
});

const changeLanguage = defineRoute({
  method: 'put',
  path: '/api/languages/:code',
  operation: 'updateLanguage',
  tag: 'Languages',
  summary: 'Change a language',
  guard: superAdmin,
  refusal: 'language.changed.refused',
  params: LanguageParams,
  body: z.strictObject({
    name: name.optional(),
    nativeName: name.optional(),
    fallback,
    code: z.string().optional().meta({ description: 'Cannot be changed; only the current one may be sent.' }),
  }),
  response: Language,
  errors: ['NOT_FOUND', 'IMMUTABLE_FIELD', 'UNKNOWN_LANGUAGES'],
  example: { body: { fallback: 'en' } },
  handle: async ({ languages }, input) => (await languages.change(input.params.code, input.body, input)).result,
});

const deleteLanguage = defineRoute({
  method: 'delete',
  path: '/api/languages/:code',
  operation: 'deleteLanguage',
  tag: 'Languages',
  summary: 'Remove a language',
  description: "Refused while a profile, an application, a template or another language's fallback names it.",
  guard: superAdmin,
  refusal: 'language.deleted.refused',
  params: LanguageParams,
  errors: ['NOT_FOUND', 'LANGUAGE_IN_USE', 'SYSTEM_RECORD'],
  handle: async ({ languages }, input) => {
    await languages.delete(input.params.code, input);
    return undefined;
  },
});

export const languageRoutes: readonly Route[] = [listLanguages, createLanguage, changeLanguage, deleteLanguage];
