/**
 * Compresses large JSON responses, in the thread pool of Node instead of the main thread. A response that could contain a
 * secret of the server is never compressed; see docs/decisions/0039-compressed-responses.md.
 */
import { pipeline, type Readable, type Transform } from 'node:stream';
import { promisify } from 'node:util';
import { brotliCompress, constants, createBrotliCompress, createGzip, gzip } from 'node:zlib';
import { LIMITS } from '../../config/limits.js';
import type { Operation, RequestContext } from '../operation.js';
import { type Encoding, encodingFor, headerText } from './encodings.js';

/** Fast settings: journals shrink to about a tenth, at more than 100 MB per second. The window limits the memory. */
const GZIP = { level: 3 } as const;
const BROTLI = { params: { [constants.BROTLI_PARAM_QUALITY]: 2, [constants.BROTLI_PARAM_LGWIN]: 18 } } as const;

const COMPRESSORS: Readonly<Record<Encoding, (text: string) => Promise<Buffer>>> = {
  br: (text) => promisify(brotliCompress)(text, BROTLI),
  gzip: (text) => promisify(gzip)(text, GZIP),
};

/** Creates streams that flush each part, so that the client can read it while the next part is read from the store. */
const STREAM_FACTORIES: Readonly<Record<Encoding, () => Transform>> = {
  br: () => createBrotliCompress({ ...BROTLI, flush: constants.BROTLI_OPERATION_FLUSH }),
  gzip: () => createGzip({ ...GZIP, flush: constants.Z_SYNC_FLUSH }),
};

/**
 * Returns the encoding of a response, or null if it is not compressed. Only responses of GET operations without an audit
 * rule are compressed, because operations that show secrets have one.
 */
export function responseEncoding(
  { method, audit }: Pick<Operation, 'method' | 'audit'>,
  { headers }: Pick<RequestContext, 'headers'>,
): Encoding | null {
  return method === 'GET' && audit === undefined ? encodingFor(headerText(headers['accept-encoding'])) : null;
}

export interface EncodedContent {
  readonly content: Buffer | Readable | string;
  /** Encoding of the content; null if it is not compressed. */
  readonly encoding: Encoding | null;
}

/** Compresses a limited number of responses at the same time. Beyond the limit, responses are sent uncompressed. */
export class Compression {
  private activeCount = 0;

  async text(text: string, encoding: Encoding | null): Promise<EncodedContent> {
    if (encoding === null || !this.tryStart()) return { content: text, encoding: null };
    try {
      return { content: await COMPRESSORS[encoding](text), encoding };
    } finally {
      this.activeCount--;
    }
  }

  stream(content: Readable, encoding: Encoding | null): EncodedContent {
    if (encoding === null || !this.tryStart()) return { content, encoding: null };
    // An error of the source must end the response early, which `pipeline` does.
    return { content: pipeline(content, STREAM_FACTORIES[encoding](), () => this.activeCount--), encoding };
  }

  private tryStart(): boolean {
    if (this.activeCount >= LIMITS.maxCompressions) return false;
    this.activeCount++;
    return true;
  }
}
