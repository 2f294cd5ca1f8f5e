/** A JSON object that is typed. */

export type ReadObject =
  | { readonly ok: true; readonly value: Readonly<Record<string, unknown>> | null }
  | { readonly ok: false; readonly why: string };

/** Nothing typed is null. */
export function readObject(text: string): ReadObject {
  if (text.trim() === '') return { ok: true, value: null };
  try {
    const value: unknown = JSON.parse(text);
    if (typeof value !== 'object' || value === null || Array.isArray(value))
      return { ok: false, why: 'It has to be an object, such as {"title": "Ada"}.' };
    return { ok: true, value: value as Readonly<Record<string, unknown>> };
  } catch (error) {
    return { ok: false, why: `This is no JSON: ${error instanceof Error ? error.message : String(error)}` };
  }
}
