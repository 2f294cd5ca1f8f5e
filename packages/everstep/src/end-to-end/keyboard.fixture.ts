/** A page without a mouse: what has the focus, and the way to something else, key by key. */
import type { Page } from 'playwright-core';

/** More stops than any page has before what one looks for. */
const MOST_STOPS = 120;

/** What those are told who do not see what has the focus. */
interface Focused {
  readonly role: string;
  readonly name: string;
}

const FOCUSED = `(() => {
  const here = document.activeElement;
  if (here === null || here === document.body) return { role: 'none', name: '' };
  const roles = { A: 'link', BUTTON: 'button', SUMMARY: 'button', SELECT: 'combobox', TEXTAREA: 'textbox' };
  const types = { checkbox: 'checkbox', radio: 'radio', range: 'slider', number: 'spinbutton' };
  const role = here.getAttribute('role') ?? (here.tagName === 'INPUT' ? types[here.type] ?? 'textbox' : roles[here.tagName] ?? here.tagName);
  const labelledBy = here.getAttribute('aria-labelledby');
  const name = here.getAttribute('aria-label')
    ?? (labelledBy === null ? null : document.getElementById(labelledBy)?.textContent)
    ?? here.labels?.[0]?.textContent
    ?? here.textContent;
  return { role, name: (name ?? '').trim() };
})()`;

export class Keyboard {
  private readonly page: Page;

  constructor(page: Page) {
    this.page = page;
  }

  focused(): Promise<Focused> {
    return this.page.evaluate<Focused>(FOCUSED);
  }

  /** Tab by Tab to what has this role and name; rejects with all that was met when it is not there. */
  async to(role: string, name: string | RegExp): Promise<void> {
    const met: string[] = [];
    for (let stop = 0; stop < MOST_STOPS; stop++) {
      const here = await this.focused();
      if (here.role === role && (typeof name === 'string' ? here.name === name : name.test(here.name))) return;
      met.push(`${here.role} ${here.name.slice(0, 40)}`);
      await this.page.keyboard.press('Tab');
    }
    throw new Error(`no Tab comes to the ${role} ${name}; there are:\n${[...new Set(met)].join('\n')}`);
  }

  async press(...keys: readonly string[]): Promise<void> {
    for (const key of keys) await this.page.keyboard.press(key);
  }

  /** Goes there and presses Enter. */
  async enter(role: string, name: string | RegExp): Promise<void> {
    await this.to(role, name);
    await this.press('Enter');
  }

  /** Goes to a field and writes into it, over what it holds. */
  async write(role: string, name: string | RegExp, text: string): Promise<void> {
    await this.to(role, name);
    await this.press('ControlOrMeta+a');
    await this.page.keyboard.type(text);
  }
}
