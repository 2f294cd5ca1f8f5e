/** Encodes bytes for JSON: as text if that is lossless, otherwise as Base64. */
import type { EncodedBody } from '@everstep/sdk/protocol';

const strictUtf8 = new TextDecoder('utf-8', { fatal: true, ignoreBOM: true });

/** Decodes UTF-8. Returns null if the bytes are not valid. */
export function utf8OrNull(body: Uint8Array): string | null {
  try {
    return strictUtf8.decode(body);
  } catch {
    return null;
  }
}

export const base64 = (body: Uint8Array): string => Buffer.from(body.buffer, body.byteOffset, body.byteLength).toString('base64');

export function encodeBody(body: Uint8Array): EncodedBody {
  const text = utf8OrNull(body);
  return text === null ? { encoding: 'base64', data: base64(body) } : { encoding: 'utf8', data: text };
}
