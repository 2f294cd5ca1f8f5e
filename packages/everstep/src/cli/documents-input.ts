/** Documents as they are typed or kept in files, and how many of them go into one request. */
import type { SearchDocument } from '@everstep/sdk';
import { readBody } from './arguments.js';
import { UsageError } from './exit-codes.js';

/** The service takes so many at once, */
const MOST_DOCUMENTS = 1_000;
/** and bodies of 10 MiB. */
const MOST_BYTES = 8 * 1024 * 1024;

function parse(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}

/** One in each line. */
function parseLines(text: string): readonly unknown[] {
  return text.split('\n').flatMap((line, index) => {
    if (line.trim() === '') return [];
    const value = parse(line);
    if (value === undefined) throw new UsageError(`<documents> are neither JSON nor lines of JSON: line ${index + 1} is none`);
    return [value];
  });
}

/** One document, an array of them, or one in each line: as text, `@file` or `-`. Throws UsageError where there is none. */
export async function readDocuments(given: string): Promise<readonly SearchDocument[]> {
  const body = await readBody(given);
  const text = typeof body === 'string' ? body : new TextDecoder().decode(body);
  const whole = parse(text);
  const documents = whole === undefined ? parseLines(text) : [whole].flat();
  if (documents.length === 0) throw new UsageError('<documents> has no document');
  const wrong = documents.findIndex((one) => typeof one !== 'object' || one === null || Array.isArray(one));
  if (wrong !== -1) throw new UsageError(`<documents> must be JSON objects; number ${wrong + 1} is none`);
  // Their fields are for the service to check, which names what is wrong.
  return documents as readonly SearchDocument[];
}

/** In the order in which they came, as few requests as may be. */
export function* requestsOf(documents: readonly SearchDocument[]): Generator<readonly SearchDocument[]> {
  let some: SearchDocument[] = [];
  let bytes = 0;
  for (const document of documents) {
    const size = Buffer.byteLength(JSON.stringify(document)) + 1;
    if (some.length === MOST_DOCUMENTS || (some.length > 0 && bytes + size > MOST_BYTES)) {
      yield some;
      some = [];
      bytes = 0;
    }
    some.push(document);
    bytes += size;
  }
  if (some.length > 0) yield some;
}
