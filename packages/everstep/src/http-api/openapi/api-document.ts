/**
 * Caches OpenAPI documents as text. They are created on first use, because creation takes milliseconds and requires no
 * credential.
 */

import { RawBody } from '../requests/raw-body.js';
import { JSON_TYPE } from '../responses/error-replies.js';

/** Returns a function that returns the document of a version. Only the last document is cached: a process has one version. */
export function cacheDocument(createDocument: (serviceVersion: string) => object): (serviceVersion: string) => RawBody {
  let cachedDocument: { readonly version: string; readonly body: RawBody } | null = null;
  return (version) => {
    if (cachedDocument?.version !== version)
      cachedDocument = { version, body: new RawBody(JSON_TYPE, Buffer.from(JSON.stringify(createDocument(version)))) };
    return cachedDocument.body;
  };
}
