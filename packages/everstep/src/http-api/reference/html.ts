/** HTML from trusted templates and untrusted text. */

const ESCAPES: Readonly<Record<string, string>> = { '&': '&amp;', '<': '&lt;', '>': '&gt;', '"': '&quot;', "'": '&#39;' };

/** A piece of markup. Text becomes one only through `html` or `prose`, which escape it. */
export class Markup {
  readonly text: string;
  constructor(text: string) {
    this.text = text;
  }
}

type Part = Markup | string | number | null | readonly Part[];

export const escaped = (text: string): string => text.replace(/[&<>"']/g, (character) => ESCAPES[character] ?? character);

function markupOf(part: Part): string {
  if (part === null) return '';
  if (part instanceof Markup) return part.text;
  if (Array.isArray(part)) return part.map(markupOf).join('');
  return escaped(String(part));
}

/** A template whose values are escaped unless they are markup. Null is empty; lists are joined. */
export const html = (strings: TemplateStringsArray, ...parts: readonly Part[]): Markup =>
  new Markup(strings.reduce((text, string, index) => text + markupOf(parts[index - 1] ?? null) + string));

/** Text with `code` and line breaks. */
export function prose(text: string): Markup {
  const lines = text.split('\n').map((line) =>
    line
      .split('`')
      .map((part, index) => (index % 2 === 1 ? `<code>${escaped(part)}</code>` : escaped(part)))
      .join(''),
  );
  return new Markup(lines.join('<br>'));
}
