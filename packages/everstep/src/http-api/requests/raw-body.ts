/** Response body that is not JSON. */
import type { Readable } from 'node:stream';

export class RawBody {
  readonly contentType: string;
  /** The whole content, or a stream of it. The stream is destroyed when the client disconnects. */
  readonly content: Buffer | Readable;

  constructor(contentType: string, content: Buffer | Readable) {
    this.contentType = contentType;
    this.content = content;
  }
}
