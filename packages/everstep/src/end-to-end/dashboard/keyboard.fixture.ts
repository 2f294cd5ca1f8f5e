/** Drives a page with the keyboard only: reads the focused element and moves to others with Tab. */
import type { Page } from 'playwright-core';

/** Maximum number of Tab stops; more than any page has. */
const MAX_STOPS = 120;

/** Role and name of the focused element, as screen readers announce them. */
interface FocusedElement {
  readonly role: string;
  readonly name: string;
}

const READ_FOCUSED_ELEMENT = `(() => {
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

  focused(): Promise<FocusedElement> {
    return this.page.evaluate<FocusedElement>(READ_FOCUSED_ELEMENT);
  }

  /** Presses Tab until the element with the role and name has the focus. Rejects with the list of stops if there is none. */
  async to(role: string, name: string | RegExp): Promise<void> {
    const stops: string[] = [];
    for (let stop = 0; stop < MAX_STOPS; stop++) {
      const element = await this.focused();
      if (element.role === role && (typeof name === 'string' ? element.name === name : name.test(element.name))) return;
      stops.push(`${element.role} ${element.name.slice(0, 40)}`);
      await this.page.keyboard.press('Tab');
    }
    throw new Error(`no Tab stop is the ${role} ${name}; stops:\n${[...new Set(stops)].join('\n')}`);
  }

  async press(...keys: readonly string[]): Promise<void> {
    for (const key of keys) await this.page.keyboard.press(key);
  }

  /** Moves to the element and presses Enter. */
  async enter(role: string, name: string | RegExp): Promise<void> {
    await this.to(role, name);
    await this.press('Enter');
  }

  /** Moves to a field and replaces its text. */
  async write(role: string, name: string | RegExp, text: string): Promise<void> {
    await this.to(role, name);
    await this.press('ControlOrMeta+a');
    await this.page.keyboard.type(text);
  }
}
