import type { Locator, Page } from 'playwright-core';

/** What somebody does with a page, counted: a press of the pointer is one, a key is one. */
export class CountingHand {
  readonly page: Page;
  clicks = 0;
  keys = 0;

  constructor(page: Page) {
    this.page = page;
  }

  /** Where the panel shows one column of what it shows in several elsewhere. */
  get isNarrow(): boolean {
    return (this.page.viewportSize()?.width ?? 0) < 640;
  }

  get count(): number {
    return this.clicks + this.keys;
  }

  async click(target: Locator): Promise<void> {
    this.clicks += 1;
    await target.click();
  }

  /** A button of the page. */
  async press(name: string | RegExp): Promise<void> {
    await this.click(this.page.locator('main').getByRole('button', { name, exact: true }).first());
  }

  /** Buttons of the dialog that is open, or is about to open. */
  async answer(...names: readonly string[]): Promise<void> {
    for (const name of names)
      await this.click(this.page.getByRole('dialog').getByRole('button', { name, exact: true }));
  }

  async follow(name: string | RegExp): Promise<void> {
    await this.click(this.page.getByRole('link', { name, exact: true }).first());
  }

  /** A place of the navigation, which a narrow window has behind a menu. */
  async place(name: string): Promise<void> {
    const menu = this.page.getByRole('button', { name: 'Menu' });
    if (await menu.isVisible()) await this.click(menu);
    await this.click(this.page.getByRole('banner').getByRole('link', { name, exact: true }));
  }

  /** Into the field that has the focus. */
  async type(text: string): Promise<void> {
    this.keys += text.length;
    await this.page.keyboard.type(text);
  }

  async key(name: string): Promise<void> {
    this.keys += 1;
    await this.page.keyboard.press(name);
  }

  /** Opens a list of choices and takes one. */
  async choose(target: Locator, value: string): Promise<void> {
    this.clicks += 2;
    await target.selectOption(value);
  }

  /** Goes into a field with the pointer, and types. */
  async fill(target: Locator, text: string): Promise<void> {
    await this.click(target);
    await this.type(text);
  }
}
