/** Sizes of the slices in which a filter examines documents. The thread yields to other work after each slice. */
import type { Filter } from '../../../ports/stores/search-store.js';
import { integer, type Row } from '../connection/columns.js';

/** Work in one slice, in comparisons of one character: about 20 ms. A slice has at least one document, however long it is. */
const WORK_AT_ONCE = 16 * 1024 * 1024;
/** Work for each byte of a document to find and compare one value. */
const VALUE_WORK = 8;

/** Returns the work that a filter causes for each byte of a document. GLOB compares each character with the whole pattern. */
function workPerByte(filter: Filter): number {
  if ('parts' in filter) return filter.parts.reduce((sum, part) => sum + workPerByte(part), 0);
  if (filter.kind === 'glob') return VALUE_WORK + filter.pattern.length;
  return VALUE_WORK * (filter.kind === 'in' ? filter.values.length : 1);
}

/** Returns the maximum bytes of the documents in one slice. */
export const sliceBytes = (filter: Filter): number => WORK_AT_ONCE / Math.max(1, workPerByte(filter));

/** Consecutive documents; `last` is the number of the last one, null if there are none. */
export interface Slice {
  readonly count: number;
  readonly last: number | null;
}

/** Returns the first documents that have at most `maxBytes` together, at least one. Rows have the columns `seq` and `bytes`. */
export function sliceOf(rows: Iterable<Row>, maxBytes: number): Slice {
  let [count, last, bytes]: [number, number | null, number] = [0, null, 0];
  for (const row of rows) {
    bytes += integer(row, 'bytes');
    if (count > 0 && bytes > maxBytes) break;
    count++;
    last = integer(row, 'seq');
  }
  return { count, last };
}
