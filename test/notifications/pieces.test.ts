import { describe, expect, test } from '@jest/globals';
import { sql } from 'kysely';
import { RenderBudget } from '../../src/notifications/budget.ts';
import { compose, type Material, type Message, type SendOrder } from '../../src/notifications/compose.ts';
import { type Personal, renderEach } from '../../src/notifications/merge.ts';
import type { PrintedMembers, Rendered, Renderer, RenderJob, RenderOutcome } from '../../src/notifications/render.ts';
import { Sends } from '../../src/notifications/send.ts';
import { surroundingsOf } from '../../src/notifications/variables.ts';
import type { TypeRow } from '../../src/persistence/catalog/notification-types.ts';
import type { TemplateRow } from '../../src/persistence/catalog/templates.ts';
import { useDatabase } from '../support/databases.ts';
import { PerTurn, useCountedPieces } from '../support/turns.ts';

/** Looks at the clock until a piece is over. */
const LOOKS = 20;
const RECIPIENTS = Array.from({ length: 1000 }, (_, at) => `reader${at}@example.com`);
const APP = { id: 1, code: 'billing', name: 'Billing' };
const RENDERED: Rendered = { subject: 'S', html: '<p>H</p>', text: 'H', pushTitle: null, pushBody: null, url: null };

/** Renders nothing; `rendered` hears of each outcome that is read. */
function renderer(printed: PrintedMembers, rendered: () => void = () => undefined): Renderer {
  const outcome = {
    ok: true,
    bytes: 100,
    get rendered() {
      rendered();
      return RENDERED;
    },
  } as const satisfies RenderOutcome;
  const parts: Pick<Renderer, 'printedMembers' | 'render'> = {
    printedMembers: () => Promise.resolve(printed),
    render: (jobs: readonly RenderJob[]) => Promise.resolve(jobs.map(() => outcome)),
  };
  return parts as Renderer;
}

const order: SendOrder = {
  type: 'generic',
  recipients: RECIPIENTS,
  payload: {},
  subject: 'News',
  body: 'Hello.',
  url: null,
  icon: null,
  locale: null,
  templateKey: null,
};

/** Checks are answered on the thread that all of this is done on. */
describe('sends to a thousand take a limited part of each turn of the event loop', () => {
  useCountedPieces(LOOKS);

  test('the choice of texts and the collection of renderings are sliced', async () => {
    let planned: () => void = () => undefined;
    class Readers extends Map<string, never> {
      override get(): undefined {
        planned();
        return undefined;
      }
    }
    const variant = {
      ...RENDERED,
      id: 1,
      locale: 'en',
      key: 'default',
      requiredVariables: [],
    } as unknown as TemplateRow;
    const type = { id: 1, code: 'generic', name: 'Generic' } as unknown as TypeRow;
    const material: Material = {
      app: APP,
      type,
      variants: [variant],
      fallbacks: new Map(),
      readers: new Readers(),
      brands: [],
    };
    let messages: readonly Message[] = [];
    const { total, most } = await PerTurn.while(async (happened) => {
      planned = happened;
      messages = await compose(material, order, renderer(null, happened));
    });
    expect(messages.map(({ email }) => email)).toEqual(RECIPIENTS);
    expect(total).toBe(2000);
    expect(most).toBeLessThanOrEqual(LOOKS);
  });

  test('the grouping of recipients and the replacement of marks are sliced', async () => {
    let asked: () => void = () => undefined;
    const shared = {
      template: RENDERED,
      payload: {},
      variables: surroundingsOf({ app: APP, brand: undefined, locale: 'en' }),
    };
    const all = RECIPIENTS.map((email): Personal => {
      const user = { email, firstName: 'Ann', lastName: null, displayName: null, locale: 'en', timezone: null };
      return {
        shared,
        get user() {
          asked();
          return user;
        },
      };
    });
    const { total, most } = await PerTurn.while(async (happened) => {
      asked = happened;
      expect(await renderEach(renderer(['firstName']), all)).toHaveLength(1000);
    });
    expect(total).toBe(2000);
    expect(most).toBeLessThanOrEqual(LOOKS);
  });

  describe('writing deliveries', () => {
    const fixture = useDatabase('postgresql');

    test('the writing of deliveries is sliced within one transaction', async () => {
      await fixture.database.change(async (tx) => {
        await sql`insert into application (code, name) values ('billing', 'Billing')`.execute(tx.kysely);
        await sql`
          insert into notification_type (application_id, code, name)
          select id, 'generic', 'Generic' from application where code = 'billing'`.execute(tx.kysely);
        return { result: null, scopes: ['p:billing'] };
      });
      let written: () => void = () => undefined;
      const target = (person: number, type: number) => {
        written();
        return { base: 'https://usher.example.com', person, type };
      };
      const sends = new Sends({
        database: fixture.database,
        renderer: renderer(null),
        budget: new RenderBudget(),
        unsubscriptions: { target },
        turns: { take: (work) => work() },
        allowHttp: false,
        arrived: () => undefined,
        ring: () => undefined,
      });
      const { total, most } = await PerTurn.while(async (happened) => {
        written = happened;
        const sent = await sends.bySystem('billing', order);
        expect(sent.map(({ email }) => email)).toEqual(RECIPIENTS);
      });
      expect(total).toBe(1000);
      expect(most).toBeLessThanOrEqual(LOOKS);
      const stored = await fixture.database.read(async (tx) => {
        const { rows } = await sql<{ transactions: number; deliveries: number; own: number }>`
          select count(distinct d.xmin::text)::int as transactions, count(*)::int as deliveries,
                 count(*) filter (where d.content ->> 'to' = p.email and d.content #>> '{unsubscribe,person}' = p.id::text)::int as own
            from delivery d join notification n on n.id = d.notification_id join person p on p.id = n.person_id`.execute(
          tx.kysely,
        );
        return rows[0];
      });
      expect(stored).toEqual({ transactions: 1, deliveries: 1000, own: 1000 });
    });
  });
});
