/** OpenAPI documents as text, made when they are first asked for: making one takes milliseconds, and anybody may ask. */
import { JSON_TYPE } from './error-replies.js';
import { RawBody } from './raw-body.js';

/** Of the version that asked last: a process has one. */
export function documentOnce(make: (serviceVersion: string) => object): (serviceVersion: string) => RawBody {
  let made: { readonly version: string; readonly body: RawBody } | null = null;
  return (version) => {
    if (made?.version !== version) made = { version, body: new RawBody(JSON_TYPE, Buffer.from(JSON.stringify(make(version)))) };
    return made.body;
  };
}
