/** HTML from trusted templates and untrusted text. */

const ESCAPES: Readonly<Record<string, string>> = { '&': '&amp;', '<': '&lt;', '>': '&gt;', '"': '&quot;', "'": '&#39;' };

/** HTML that is safe to send. Only `html` and `prose` convert text to it, and both escape the text. */
export class Markup {
  readonly text: string;
  constructor(text: string) {
    this.text = text;
  }
}

type Part = Markup | string | number | null | readonly Part[];

export const escapeHtml = (text: string): string => text.replace(/[&<>"']/g, (character) => ESCAPES[character] ?? character);

function markupOf(part: Part): string {
  if (part === null) return '';
  if (part instanceof Markup) return part.text;
  if (Array.isArray(part)) return part.map(markupOf).join('');
  return escapeHtml(String(part));
}

/** Returns markup from a template. Values are escaped unless they are markup, null is empty, and lists are joined. */
export const html = (strings: TemplateStringsArray, ...parts: readonly Part[]): Markup =>
  new Markup(strings.reduce((text, string, index) => text + markupOf(parts[index - 1] ?? null) + string));

/** Returns markup for text with `code` and line breaks. */
export function prose(text: string): Markup {
  const lines = text.split('\n').map((line) =>
    line
      .split('`')
      .map((part, index) => (index % 2 === 1 ? `<code>${escapeHtml(part)}</code>` : escapeHtml(part)))
      .join(''),
  );
  return new Markup(lines.join('<br>'));
}
