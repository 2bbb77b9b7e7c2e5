import type { Locator, Page } from 'playwright-core';

/** What somebody does with a page. */
export class Hand {
  readonly page: Page;
  #last: () => Promise<void> = async () => undefined;

  constructor(page: Page) {
    this.page = page;
  }

  async press(name: string): Promise<void> {
    await this.click(this.page.locator('main').getByRole('button', { name, exact: true }).first());
  }

  /** A button of the dialog that is open, or is about to open. */
  async answer(...names: readonly string[]): Promise<void> {
    for (const name of names)
      await this.click(this.page.getByRole('dialog').getByRole('button', { name, exact: true }));
  }

  async click(target: Locator): Promise<void> {
    this.#last = () => target.click();
    await this.#last();
  }

  async enter(): Promise<void> {
    this.#last = () => this.page.keyboard.press('Enter');
    await this.#last();
  }

  /** Does the last thing once more: what sends a form. */
  async again(): Promise<void> {
    await this.#last();
  }

  async fill(fields: Readonly<Record<string, string>>): Promise<void> {
    for (const [label, text] of Object.entries(fields)) await this.page.getByLabel(label, { exact: true }).fill(text);
  }

  async check(name: string): Promise<void> {
    await this.page.getByRole('checkbox', { name }).check();
  }
}
