/** Parses a JSON object that the user typed. */

export type ObjectResult =
  | { readonly ok: true; readonly value: Readonly<Record<string, unknown>> | null }
  | { readonly ok: false; readonly problem: string };

/** Returns the parsed object, or null for empty text. */
export function readObject(text: string): ObjectResult {
  if (text.trim() === '') return { ok: true, value: null };
  try {
    const value: unknown = JSON.parse(text);
    if (typeof value !== 'object' || value === null || Array.isArray(value))
      return { ok: false, problem: 'Enter a JSON object, such as {"title": "Ada"}.' };
    return { ok: true, value: value as Readonly<Record<string, unknown>> };
  } catch (error) {
    return { ok: false, problem: `Invalid JSON: ${error instanceof Error ? error.message : String(error)}` };
  }
}
