import { createRequire } from 'node:module';

// Its types are those of its CommonJS form, where the class is one level deeper than in the module.
const { default: Sequencer } = createRequire(import.meta.url)(
  '@jest/test-sequencer',
) as typeof import('@jest/test-sequencer');
type Tests = Parameters<InstanceType<typeof Sequencer>['sort']>[0];

/**
 * Files of half a minute and more, the longest first, and some of twenty seconds that would end the run. On a fresh clone jest knows
 * no times and begins with the largest files, so a short file that takes a minute would run at the end, beside an idle worker. One
 * that is missing here costs that at most.
 */
const LONG = [
  'browser/panel-rights.browser.ts',
  'browser/react-client.browser.ts',
  'browser/panel-people.browser.ts',
  'browser/panel-application-views.browser.ts',
  'browser/panel-forms.browser.ts',
  'browser/panel-settings.browser.ts',
  'browser/panel-rights-writes.browser.ts',
  'browser/documentation.browser.ts',
  'browser/panel-hard.browser.ts',
  'faults/database.test.ts',
  'doors/differential.test.ts',
  'provider/reconciliation.test.ts',
  'retention/retention.test.ts',
  'attacks/shutdown.test.ts',
  'doors/decision-log.test.ts',
  'directory/killed-erasures.test.ts',
  'cli/backup.test.ts',
  'attacks/hostile.test.ts',
  'cli/service.test.ts',
  'delivery/crash.test.ts',
  'faults/replica.test.ts',
  'faults/ahead.test.ts',
  'attacks/journal.test.ts',
  'engine/model/model.test.ts',
  'app/readiness.test.ts',
  'provider/mail/settings.test.ts',
  'catalog/manifest/round-trip.test.ts',
  'edge/faults.test.ts',
  'app/grpc-processes.test.ts',
  'app/connection-ages.test.ts',
  'wire/fuzz.test.ts',
  'delivery/auth-first.test.ts',
];

/** Runs the files that take long before the others. */
export default class LongestFirst extends Sequencer {
  override async sort(tests: Tests): Promise<Tests> {
    const place = ({ path }: Tests[number]): number => {
      const at = LONG.findIndex((name) => path.endsWith(`/test/${name}`));
      return at < 0 ? LONG.length : at;
    };
    return (await super.sort(tests)).toSorted((one, other) => place(one) - place(other));
  }
}
