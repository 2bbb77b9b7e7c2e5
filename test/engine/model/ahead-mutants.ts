/** Facts read ahead with one guard taken away: the simulation must notice each. */
import type { Fact } from '../../../src/engine/fact.ts';
import { Loader } from '../../../src/engine/loader.ts';
import type { MemberAnswer, MemberNeed, Revision } from '../../../src/engine/types.ts';
import { type Make, simulated, TTL } from './settings.ts';

type Options = ConstructorParameters<typeof Loader>[0];

/** Reads ahead by a way of its own, where `store` decides what becomes of a reply. */
abstract class OwnWay extends Loader {
  protected readonly parts: Options;

  constructor(options: Options) {
    super(options);
    this.parts = options;
  }

  protected put(answers: readonly MemberAnswer[], revision: Revision, readAt: number): void {
    const { facts } = this.parts;
    for (const answer of answers) {
      facts.putPerson(answer.person, revision, readAt);
      if (answer.member.app === '') continue;
      facts.putMember(answer.member, revision, readAt);
      if (answer.overrides !== null) facts.putOverrides(answer.overrides, answer, revision, readAt);
    }
  }
}

const loader = (Made: typeof Loader): Make => ({ parts: { Loader: Made } });

export const AHEAD_MUTANTS: Readonly<Record<string, Make>> = {
  'what is read ahead is stored whatever was changed meanwhile': loader(
    class extends OwnWay {
      override async membersAgain(needs: readonly MemberNeed[]): Promise<void> {
        const { source, follower } = this.parts;
        const { since, sentAt } = follower.ticket();
        const { answers } = await source.members(since, needs);
        this.put(answers, follower.cursor, sentAt);
      }
    },
  ),
  'reading ahead prolongs what it could not read': loader(
    class extends OwnWay {
      override async membersAgain(needs: readonly MemberNeed[]): Promise<void> {
        const { facts } = this.parts;
        await super.membersAgain(needs).catch(() => {
          for (const { email, app } of needs) {
            for (const fact of [
              facts.about(email)?.person,
              facts.about(email)?.members.get(app)?.fact,
              facts.policy(app),
            ]) {
              if (fact !== undefined) fact.expires = fact.due = simulated.now + TTL;
            }
          }
        });
      }
    },
  ),
  'what is read ahead counts as read when it arrives': loader(
    class extends OwnWay {
      override async policyAgain(app: string): Promise<void> {
        await super.policyAgain(app);
        this.#renew(this.parts.facts.policy(app));
      }

      override async membersAgain(needs: readonly MemberNeed[]): Promise<void> {
        await super.membersAgain(needs);
        for (const { email, app } of needs) {
          const about = this.parts.facts.about(email);
          this.#renew(about?.person);
          this.#renew(about?.members.get(app)?.fact);
        }
      }

      #renew(fact: Fact<unknown> | undefined): void {
        if (fact !== undefined) Object.assign(fact, { readAt: simulated.now, expires: simulated.now + TTL });
      }
    },
  ),
};
