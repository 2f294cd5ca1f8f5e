/** The counted size of what a write stores. It is the same in every store. */

/** Number of bytes that are counted for each record in addition to its contents. */
export const RECORD_BYTES = 512;

/** Returns the stored size of texts and binary values in bytes. A null value counts as zero. */
export function contentBytes(...contents: readonly (string | Uint8Array | null)[]): number {
  let sum = 0;
  for (const content of contents) {
    if (typeof content === 'string') sum += Buffer.byteLength(content);
    else if (content !== null) sum += content.length;
  }
  return sum;
}

/** Returns the JSON text that a store writes; null for an empty column. */
export const toJson = (value: object | null | undefined): string | null => (value ? JSON.stringify(value) : null);
