/** Decodes encoded response bodies. Either the request accepted an encoding, or the endpoint ignored `identity`. */
import { promisify } from 'node:util';
import zlib from 'node:zlib';
import type { HttpResponse } from './exchange.js';

const gunzip = promisify(zlib.gunzip);
const brotliDecompress = promisify(zlib.brotliDecompress);
const inflate = promisify(zlib.inflate);
const inflateRaw = promisify(zlib.inflateRaw);

type Decoder = (body: Buffer, options: { readonly maxOutputLength: number }) => Promise<Buffer>;

const ZLIB_METHOD = 8;
const DECODERS: Readonly<Record<string, Decoder>> = {
  gzip: gunzip,
  'x-gzip': gunzip,
  br: brotliDecompress,
  // Some servers send deflate without the zlib wrapper, whose first byte contains the method.
  deflate: (body, options) => (((body[0] ?? 0) & 0x0f) === ZLIB_METHOD ? inflate(body, options) : inflateRaw(body, options)),
};
/** Maximum number of encodings that are decoded. Each can use the full limit of memory and time. */
const MAX_ENCODINGS = 3;

export type DecodingResult =
  | { readonly kind: 'decoded'; readonly response: HttpResponse }
  /** The decoded body exceeds the limit. */
  | { readonly kind: 'too-long' }
  | { readonly kind: 'undecodable'; readonly encoding: string; readonly reason: string };

function encodingsOf(response: HttpResponse): readonly string[] {
  const headers: NodeJS.Dict<string | string[]> = response.headers;
  return [headers['content-encoding'] ?? '']
    .flat()
    .join(',')
    .split(',')
    .map((encoding) => encoding.trim().toLowerCase())
    .filter((encoding) => encoding !== '' && encoding !== 'identity');
}

function codeOf(error: unknown): string {
  if (error instanceof Error && 'code' in error && typeof error.code === 'string') return error.code;
  return error instanceof Error ? error.message : String(error);
}

/**
 * Decodes a response and drops the headers about its encoding. A response with an unknown encoding is returned unchanged. Decodes
 * at most `maxBytes`.
 */
export async function decodeResponse(response: HttpResponse, maxBytes: number): Promise<DecodingResult> {
  const encodings = encodingsOf(response);
  if (encodings.length === 0 || encodings.length > MAX_ENCODINGS || response.body.length === 0)
    return { kind: 'decoded', response };
  if (!encodings.every((encoding) => Object.hasOwn(DECODERS, encoding))) return { kind: 'decoded', response };
  let { body } = response;
  for (const encoding of encodings.toReversed()) {
    try {
      body = (await DECODERS[encoding]?.(body, { maxOutputLength: maxBytes })) ?? body;
    } catch (error) {
      const code = codeOf(error);
      return code === 'ERR_BUFFER_TOO_LARGE' ? { kind: 'too-long' } : { kind: 'undecodable', encoding, reason: code };
    }
  }
  const { 'content-encoding': _encoding, 'content-length': _length, ...headers } = response.headers;
  return { kind: 'decoded', response: { ...response, headers, body } };
}
