/** Parses the documents of a search command and splits them into requests. */
import type { SearchDocument } from '@everstep/sdk';
import { readBody } from './arguments.js';
import { UsageError } from './exit-codes.js';

/** Maximum number of documents in a request. */
const MAX_REQUEST_DOCUMENTS = 1_000;
/** Maximum size of a request. The server accepts 10 MiB. */
const MAX_REQUEST_BYTES = 8 * 1024 * 1024;

function parseOrUndefined(text: string): unknown {
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
    const value = parseOrUndefined(line);
    if (value === undefined) throw new UsageError(`<documents> must be JSON or JSON lines; line ${index + 1} is invalid`);
    return [value];
  });
}

/** Parses one document, an array, or one document per line, from a text, `@file` or `-`. Rejects with UsageError if invalid. */
export async function readDocuments(input: string): Promise<readonly SearchDocument[]> {
  const body = await readBody(input);
  const text = typeof body === 'string' ? body : new TextDecoder().decode(body);
  const value = parseOrUndefined(text);
  const documents = value === undefined ? parseLines(text) : [value].flat();
  if (documents.length === 0) throw new UsageError('<documents> is empty');
  const invalidIndex = documents.findIndex(
    (document) => typeof document !== 'object' || document === null || Array.isArray(document),
  );
  if (invalidIndex !== -1)
    throw new UsageError(`<documents> must be JSON objects; document ${invalidIndex + 1} is not an object`);
  // The server validates the fields and reports which one is invalid.
  return documents as readonly SearchDocument[];
}

/** Splits the documents into as few requests as possible, in their order. */
export function* requestsOf(documents: readonly SearchDocument[]): Generator<readonly SearchDocument[]> {
  let batch: SearchDocument[] = [];
  let batchBytes = 0;
  for (const document of documents) {
    const documentBytes = Buffer.byteLength(JSON.stringify(document)) + 1;
    if (batch.length === MAX_REQUEST_DOCUMENTS || (batch.length > 0 && batchBytes + documentBytes > MAX_REQUEST_BYTES)) {
      yield batch;
      batch = [];
      batchBytes = 0;
    }
    batch.push(document);
    batchBytes += documentBytes;
  }
  if (batch.length > 0) yield batch;
}
