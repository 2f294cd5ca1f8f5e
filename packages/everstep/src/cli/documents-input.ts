/** Parses the documents of a search command and splits them into requests. */
import type { SearchDocument } from '@everstep/sdk';
import { readBody } from './arguments.js';
import { UsageError } from './exit-codes.js';

/** Maximum number of documents in a request. */
const MAX_DOCUMENTS = 1_000;
/** Stays below the maximum request body of 10 MiB. */
const MAX_BYTES = 8 * 1024 * 1024;

function parse(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}

/** Parses one document per line. */
function parseLines(text: string): readonly unknown[] {
  return text.split('\n').flatMap((line, index) => {
    if (line.trim() === '') return [];
    const value = parse(line);
    if (value === undefined) throw new UsageError(`<documents> must be JSON or JSON lines; line ${index + 1} is invalid`);
    return [value];
  });
}

/** Parses one document, an array, or one document per line, given as text, `@file` or `-`. Throws UsageError if invalid. */
export async function readDocuments(given: string): Promise<readonly SearchDocument[]> {
  const body = await readBody(given);
  const text = typeof body === 'string' ? body : new TextDecoder().decode(body);
  const whole = parse(text);
  const documents = whole === undefined ? parseLines(text) : [whole].flat();
  if (documents.length === 0) throw new UsageError('<documents> is empty');
  const wrong = documents.findIndex((one) => typeof one !== 'object' || one === null || Array.isArray(one));
  if (wrong !== -1) throw new UsageError(`<documents> must be JSON objects; document ${wrong + 1} is not an object`);
  // The server validates the fields and reports which one is invalid.
  return documents as readonly SearchDocument[];
}

/** Splits the documents into as few requests as possible, in their order. */
export function* requestsOf(documents: readonly SearchDocument[]): Generator<readonly SearchDocument[]> {
  let some: SearchDocument[] = [];
  let bytes = 0;
  for (const document of documents) {
    const size = Buffer.byteLength(JSON.stringify(document)) + 1;
    if (some.length === MAX_DOCUMENTS || (some.length > 0 && bytes + size > MAX_BYTES)) {
      yield some;
      some = [];
      bytes = 0;
    }
    some.push(document);
    bytes += size;
  }
  if (some.length > 0) yield some;
}
