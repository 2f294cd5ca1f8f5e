/** Encodes bytes as text for JSON, and decodes them: UTF-8 if that is lossless, otherwise Base64. */
import type { EncodedBody } from '@everstep/sdk/protocol';

const strictUtf8 = new TextDecoder('utf-8', { fatal: true, ignoreBOM: true });

export function encodeBody(body: Uint8Array): EncodedBody {
  try {
    return { encoding: 'utf8', data: strictUtf8.decode(body) };
  } catch {
    return { encoding: 'base64', data: Buffer.from(body.buffer, body.byteOffset, body.byteLength).toString('base64') };
  }
}

export const decodeBody = ({ data, encoding }: EncodedBody): Uint8Array => Buffer.from(data, encoding);
