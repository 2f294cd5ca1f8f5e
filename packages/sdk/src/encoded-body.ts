/** Bytes as they stand in frames, and back. */
import type { EncodedBody } from './protocol.js';

// Without a byte order mark text would be shorter than its bytes, and not come back as it went.
const strictUtf8 = new TextDecoder('utf-8', { fatal: true, ignoreBOM: true });
const lenientUtf8 = new TextDecoder('utf-8');
/** What fits on the stack as arguments of one call. */
const CHUNK = 8_192;

function base64(bytes: Uint8Array): string {
  let text = '';
  for (let from = 0; from < bytes.length; from += CHUNK) text += String.fromCharCode(...bytes.subarray(from, from + CHUNK));
  return btoa(text);
}

/** UTF-8 text where that is lossless, else base64. */
export function encodedBody(content: string | Uint8Array): EncodedBody {
  if (typeof content === 'string') return { encoding: 'utf8', data: content };
  try {
    return { encoding: 'utf8', data: strictUtf8.decode(content) };
  } catch {
    return { encoding: 'base64', data: base64(content) };
  }
}

/** Throws when it is said to be base64 and is not. */
export function bytesOf(body: EncodedBody): Uint8Array {
  if (body.encoding === 'utf8') return new TextEncoder().encode(body.data);
  const text = atob(body.data);
  // A loop, as `Uint8Array.from` takes more than a second for 10 MB.
  const bytes = new Uint8Array(text.length);
  for (let i = 0; i < text.length; i++) bytes[i] = text.charCodeAt(i);
  return bytes;
}

/** The text; of bytes that are no UTF-8 what can be read of them. */
export const textOf = (body: EncodedBody): string => (body.encoding === 'utf8' ? body.data : lenientUtf8.decode(bytesOf(body)));

export const isJsonType = (contentType: string): boolean => /^application\/(?:[\w.+-]+\+)?json\b/i.test(contentType.trim());
