/** Interprets the fields of the trigger dialog. */

/** Returns the content type of a payload; null if there is no payload. */
export function contentTypeOf(body: string): 'application/json' | 'text/plain' | null {
  if (body === '') return null;
  try {
    JSON.parse(body);
    return 'application/json';
  } catch {
    return 'text/plain';
  }
}
