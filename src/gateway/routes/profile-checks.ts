/**
 * Permission checks of signed-in users about themselves (docs/reference/decisions.md#doors): the user is taken
 * from the token only, so `email` is an unknown field. An inactive user gets an answer: everything is denied.
 */

import { z } from 'zod';
import { askBatch, askBulk, askCheck, askEffective } from '../questions/ask.ts';
import {
  appField,
  askedLevel,
  checksField,
  levelField,
  MyCheckResult,
  MyEffectivePermission,
  myCheckResult,
  myEffectivePermission,
  permissionField,
  permissionsField,
  rawCheck,
  rawSubject,
  resourceFields,
} from '../questions/fields.ts';
import { bare } from '../route/envelopes.ts';
import { signedInEvenInactive } from '../route/guards.ts';
import { defineRoute, type Route } from '../route/route.ts';

const MyCheckQuestion = z.strictObject({
  app: appField,
  permission: permissionField,
  ...resourceFields,
  accessLevel: levelField,
});

const myCheck = defineRoute({
  method: 'post',
  path: '/api/profile/me/check',
  tag: 'Checks',
  summary: 'Check one of my permissions',
  guard: signedInEvenInactive,
  headers: ['usher-min-revision'],
  body: MyCheckQuestion,
  envelope: bare,
  status: 200,
  response: z.object({ allowed: z.boolean() }),
  errors: ['INCOMPLETE_RESOURCE', 'UNKNOWN_REVISION', 'UNKNOWN_CODE'],
  example: { body: { app: 'crm', permission: 'contacts.export' }, response: { allowed: true } },
  quiet: true,
  handle: ({ engine }, input) => {
    const { body, caller } = input;
    const { permission, accessLevel } = body;
    return askCheck(
      engine,
      { ...rawSubject(caller.email, body), permission, accessLevel: askedLevel(accessLevel) },
      input,
    );
  },
});

const myBulkCheck = defineRoute({
  method: 'post',
  path: '/api/profile/me/check/bulk',
  tag: 'Checks',
  summary: 'Check several of my permissions',
  description: 'One answer for each distinct code, all at one revision.',
  guard: signedInEvenInactive,
  headers: ['usher-min-revision'],
  body: z.strictObject({ app: appField, permissions: permissionsField, ...resourceFields, accessLevel: levelField }),
  limit: 'list',
  envelope: bare,
  status: 200,
  response: z.record(z.string(), z.boolean()),
  errors: ['INCOMPLETE_RESOURCE', 'UNKNOWN_REVISION', 'UNKNOWN_CODE'],
  example: {
    body: { app: 'crm', permissions: ['contacts.export', 'contacts.delete'] },
    response: { 'contacts.export': true, 'contacts.delete': false },
  },
  quiet: true,
  handle: ({ engine }, input) => {
    const { body, caller } = input;
    const { permissions, accessLevel } = body;
    return askBulk(
      engine,
      { ...rawSubject(caller.email, body), permissions, accessLevel: askedLevel(accessLevel) },
      input,
    );
  },
});

const myEffective = defineRoute({
  method: 'post',
  path: '/api/profile/me/check/effective',
  tag: 'Checks',
  summary: 'List what I hold in an application',
  description: 'Every permission that the application defines, by group (those without one last), then code.',
  guard: signedInEvenInactive,
  headers: ['usher-min-revision'],
  body: z.strictObject({ app: appField, ...resourceFields }),
  envelope: bare,
  status: 200,
  response: z.array(MyEffectivePermission),
  errors: ['INCOMPLETE_RESOURCE', 'UNKNOWN_REVISION', 'UNKNOWN_CODE'],
  example: {
    body: { app: 'crm' },
    response: [
      {
        code: 'contacts.export',
        type: 'binary',
        groupName: null,
        global: true,
        accessLevel: null,
        granted: false,
        source: 'none',
      },
    ],
  },
  quiet: true,
  handle: ({ engine }, input) =>
    askEffective(engine, rawSubject(input.caller.email, input.body), myEffectivePermission, input),
});

const myBatchCheck = defineRoute({
  method: 'post',
  path: '/api/profile/me/check/batch',
  tag: 'Checks',
  summary: 'Check my permissions for many records',
  description:
    'Answers each check in order, all at one revision. A malformed check refuses the whole call and is named (`checks.3.resourceId`).',
  guard: signedInEvenInactive,
  headers: ['usher-min-revision'],
  body: z.strictObject({ checks: checksField(MyCheckQuestion) }),
  limit: 'list',
  envelope: bare,
  status: 200,
  response: z.object({ results: z.array(MyCheckResult) }),
  errors: ['INCOMPLETE_RESOURCE', 'UNKNOWN_REVISION', 'UNKNOWN_CODE'],
  example: {
    body: { checks: [{ app: 'crm', permission: 'contacts.manage', resourceType: 'contact', resourceId: '43' }] },
    response: { results: [{ allowed: false, accessLevel: null, source: 'none' }] },
  },
  quiet: true,
  handle: ({ engine }, input) => {
    const { body, caller } = input;
    const checks = body.checks.map((check) => rawCheck({ ...check, email: caller.email }));
    return askBatch(engine, checks, myCheckResult, input);
  },
});

export const profileCheckRoutes: readonly Route[] = [myCheck, myBulkCheck, myEffective, myBatchCheck];
