/** Reads event data that the user typed. */

export type EventDataResult =
  | { readonly ok: true; readonly body: string | undefined }
  | { readonly ok: false; readonly problem: string };

/** Returns the body to send. Empty text means no body; any other text must be valid JSON and is sent unchanged. */
export function readEventData(text: string): EventDataResult {
  if (text.trim() === '') return { ok: true, body: undefined };
  try {
    JSON.parse(text);
    return { ok: true, body: text };
  } catch (error) {
    const reason = error instanceof Error ? error.message : String(error);
    return { ok: false, problem: `Invalid JSON: ${reason}. Put text in quotes: "paid".` };
  }
}
