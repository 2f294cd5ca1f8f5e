/** Converts bytes to the form used in frames, and back. */
import type { EncodedBody } from './protocol.js';

// Keeps a byte order mark. Without it, the text would be shorter than its bytes and could not be restored.
const strictUtf8 = new TextDecoder('utf-8', { fatal: true, ignoreBOM: true });
const lenientUtf8 = new TextDecoder('utf-8');
/** Number of bytes for one call of `String.fromCharCode`. More arguments could overflow the stack. */
const CHUNK_BYTES = 8_192;

function base64(bytes: Uint8Array): string {
  let text = '';
  for (let from = 0; from < bytes.length; from += CHUNK_BYTES)
    text += String.fromCharCode(...bytes.subarray(from, from + CHUNK_BYTES));
  return btoa(text);
}

/** Encodes content as UTF-8 text if that is lossless, otherwise as Base64. */
export function encodeBody(content: string | Uint8Array): EncodedBody {
  if (typeof content === 'string') return { encoding: 'utf8', data: content };
  try {
    return { encoding: 'utf8', data: strictUtf8.decode(content) };
  } catch {
    return { encoding: 'base64', data: base64(content) };
  }
}

/** Returns the bytes of a body. Throws if Base64 data is invalid. */
export function bytesOf(body: EncodedBody): Uint8Array {
  if (body.encoding === 'utf8') return new TextEncoder().encode(body.data);
  const text = atob(body.data);
  // A loop, because `Uint8Array.from` takes more than a second for 10 MB.
  const bytes = new Uint8Array(text.length);
  for (let i = 0; i < text.length; i++) bytes[i] = text.charCodeAt(i);
  return bytes;
}

/** Returns the bytes of a body in Base64. */
export const base64Of = (body: EncodedBody): string => (body.encoding === 'base64' ? body.data : base64(bytesOf(body)));

/** Returns the body as text. Bytes that are not UTF-8 are replaced. */
export const textOf = (body: EncodedBody): string => (body.encoding === 'utf8' ? body.data : lenientUtf8.decode(bytesOf(body)));

/** Parses JSON that others wrote, with or without a byte order mark. Throws SyntaxError. */
export const parseReceivedJson = (text: string): unknown => JSON.parse(text.replace(/^\uFEFF/, ''));

/** Maximum number of bytes of a UTF-16 code unit in UTF-8. */
const MAX_BYTES_PER_CODE_UNIT = 3;

/** Returns the number of bytes of a text in UTF-8 if it is greater than `limit`; otherwise null. */
export function bytesOver(limit: number, text: string): number | null {
  if (text.length * MAX_BYTES_PER_CODE_UNIT <= limit) return null;
  const bytes = new TextEncoder().encode(text).length;
  return bytes > limit ? bytes : null;
}

/** Returns whether a content type is JSON. */
export const isJsonType = (contentType: string): boolean => /^application\/(?:[\w.+-]+\+)?json\b/i.test(contentType.trim());
