import { describe, expect, test } from '@jest/globals';
import { misspelledVariables } from '../../src/config/hints.ts';
import { KEYS } from '../../src/config/keys.ts';
import { faultsOf } from './faults.ts';
import { USUAL_VARIABLES } from './usual-variables.data.ts';

describe('misspellings', () => {
  test.each([
    ['DATABASE_ULR', 'DATABASE_URL'],
    ['DATABASE_URI', 'DATABASE_URL'],
    ['DATABSE_URL', 'DATABASE_URL'],
    ['AUTH_ISUER', 'AUTH_ISSUER'],
    ['INTERNAL_API_KEYS', 'INTERNAL_API_KEY'],
    ['CACHE_TLL_MS', 'CACHE_TTL_MS'],
    ['OPS_PROT', 'OPS_PORT'],
    ['DATADIR', 'DATA_DIR'],
    ['SUPERADMIN', 'SUPERADMINS'],
    ['SUPER_ADMINS', 'SUPERADMINS'],
    ['NODE_EVN', 'NODE_ENV'],
    ['USHER_ROLE', 'USHER_ROLES'],
  ])('the misspelling %s gets the hint %s', (name, meant) => {
    expect(misspelledVariables({ [name]: 'x' })).toEqual([`${name} is not known; did you mean ${meant}?`]);
  });

  test('every variable with a missing letter, or two swapped ones, gets a hint', () => {
    for (const { variable } of Object.values(KEYS)) {
      const at = variable.length - 2;
      const twisted = `${variable.slice(0, at)}${variable[at + 1]}${variable[at]}`;
      for (const wrong of [variable.slice(0, -1), twisted]) {
        if (Object.values(KEYS).some((key) => key.variable === wrong) || wrong === variable) continue;
        expect([wrong, misspelledVariables({ [wrong]: 'x' })]).toEqual([
          wrong,
          [expect.stringContaining('did you mean')],
        ]);
      }
    }
  });

  test('usual variables of shells, containers, platforms and build machines get no hint', () => {
    const usual = Object.fromEntries(USUAL_VARIABLES.map((name) => [name, 'x']));
    expect(misspelledVariables(usual)).toEqual([]);
    expect(misspelledVariables(process.env)).toEqual([]);
    expect(misspelledVariables(Object.fromEntries(Object.values(KEYS).map(({ variable }) => [variable, 'x'])))).toEqual(
      [],
    );
  });

  test.each([
    [{ htp: { port: 1 } }, 'htp', 'http'],
    [{ http: { prot: 1 } }, 'http.prot', 'http.port'],
    [{ databse: { url: 'x' } }, 'databse', 'database'],
    [{ database: { urll: 'x' } }, 'database.urll', 'database.url'],
    [{ grpc: { tls: { crt: 'x' } } }, 'grpc.tls.crt', 'grpc.tls.cert'],
    [{ issuer: 'x' }, 'issuer', 'auth.issuer'],
    [{ auth: { notificationAppCode: 'x' } }, 'auth.notificationAppCode', 'idp.notificationAppCode'],
  ])('an unknown key of the file is refused with the nearest: %j', (file, key, meant) => {
    expect(faultsOf({ env: {}, file })).toEqual({ [key]: `is not a known key; did you mean ${meant}?` });
  });

  test('an unknown key unlike any other is refused without a suggestion', () => {
    expect(faultsOf({ env: {}, file: { somethingElse: 1 } })).toEqual({ somethingElse: 'is not a known key' });
  });
});
