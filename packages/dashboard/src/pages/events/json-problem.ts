/** Validates event data that the user typed. */

export type EventData = { readonly ok: true; readonly body: string | undefined } | { readonly ok: false; readonly why: string };

/** Returns the body to send: none for empty text, otherwise the text as typed, which must be JSON. */
export function readEventData(text: string): EventData {
  if (text.trim() === '') return { ok: true, body: undefined };
  try {
    JSON.parse(text);
    return { ok: true, body: text };
  } catch (error) {
    const why = error instanceof Error ? error.message : String(error);
    return { ok: false, why: `Invalid JSON: ${why}. Put text in quotes: "paid".` };
  }
}
