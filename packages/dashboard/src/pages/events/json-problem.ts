/** What is typed as event data, before it is sent. */

export type EventData = { readonly ok: true; readonly body: string | undefined } | { readonly ok: false; readonly why: string };

/** Nothing at all is no data; anything else has to be JSON, and is sent as it was typed. */
export function readEventData(text: string): EventData {
  if (text.trim() === '') return { ok: true, body: undefined };
  try {
    JSON.parse(text);
    return { ok: true, body: text };
  } catch (error) {
    const why = error instanceof Error ? error.message : String(error);
    return { ok: false, why: `This is no JSON: ${why}. A text stands in quotes: "paid".` };
  }
}
