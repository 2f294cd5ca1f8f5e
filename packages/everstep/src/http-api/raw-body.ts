/** A body that is sent as it is, and not as JSON. */
import type { Readable } from 'node:stream';

export class RawBody {
  readonly contentType: string;
  /** A stream that ends when the answer is to end; it is destroyed when the client is gone before. */
  readonly content: Buffer | Readable;

  constructor(contentType: string, content: Buffer | Readable) {
    this.contentType = contentType;
    this.content = content;
  }
}
