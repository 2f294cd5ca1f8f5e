/**
 * Collects request bodies within limits per request, per owner and in total. Bytes count from their arrival until the
 * response is sent, so slow or unfinished uploads cannot exhaust the memory.
 * Keeps invariant 42.
 */
import type { FastifyReply, FastifyRequest } from 'fastify';
import { LIMITS } from '../../config/limits.js';
import { ApiError } from '../../contract/error-codes.js';

const RETRY_LATER = { 'retry-after': '1' };

export interface BodyLimits {
  readonly maxBytesTotal: number;
  readonly maxBytesOfOwner: number;
}

export const BODY_LIMITS: BodyLimits = {
  maxBytesTotal: LIMITS.maxHeldBodyBytes,
  maxBytesOfOwner: LIMITS.maxHeldBodyBytesOfOwner,
};

export interface BodyOptions {
  /** Owners for whom the bytes are counted. The limit applies to each of them. */
  readonly owners: readonly string[];
  readonly maxBytes: number;
  /** Returns the error for a body that has more than `maxBytes`; `bytes` have arrived or were announced. */
  readonly createSizeError?: (maxBytes: number, bytes: number) => ApiError;
}

/** A body that was received completely. `bytes` joins its parts, which takes some time for a long body. */
export interface ReceivedBody {
  readonly length: number;
  readonly bytes: () => Buffer;
}

const tooLargeError = (maxBytes: number): ApiError =>
  new ApiError('body-too-large', `the request body must not be larger than ${maxBytes} bytes`);

export class RequestBodies {
  private readonly limits: BodyLimits;
  private readonly bytesByOwner = new Map<string, number>();
  private heldBytes = 0;

  constructor(limits: BodyLimits = BODY_LIMITS) {
    this.limits = limits;
  }

  /** Number of bytes in memory. */
  get bytes(): number {
    return this.heldBytes;
  }

  /**
   * Resolves with the received body. Rejects with ApiError `body-too-large`, `rate-limited` (limit of the owner), `unavailable`
   * (limit of all owners) or `bad-request` (the body does not match its Content-Length).
   */
  collect(
    request: FastifyRequest,
    reply: FastifyReply,
    { owners, maxBytes, createSizeError = tooLargeError }: BodyOptions,
  ): Promise<ReceivedBody> {
    const { raw, headers } = request;
    const contentLength = headers['content-length'] === undefined ? null : Number(headers['content-length']);
    if (contentLength !== null && contentLength > maxBytes) return Promise.reject(createSizeError(maxBytes, contentLength));
    return new Promise((resolve, reject) => {
      const chunks: Buffer[] = [];
      let length = 0;
      let countedBytes = 0;
      reply.raw.once('close', () => {
        this.add(owners, -countedBytes);
        countedBytes = 0;
        if (!raw.complete) reject(new ApiError('bad-request', 'the request ended before it was complete'));
      });
      const stop = (error: ApiError) => {
        chunks.length = 0;
        raw.off('data', receiveChunk);
        reject(error);
      };
      const receiveChunk = (chunk: Buffer): void => {
        length += chunk.length;
        const refusal = length > maxBytes ? createSizeError(maxBytes, length) : this.refusalFor(owners, chunk.length);
        if (refusal) {
          stop(refusal);
          return;
        }
        this.add(owners, chunk.length);
        countedBytes += chunk.length;
        chunks.push(chunk);
      };
      raw.on('data', receiveChunk);
      raw.once('error', reject);
      raw.once('end', () => {
        if (contentLength !== null && contentLength !== length)
          return reject(new ApiError('bad-request', 'the length of the body does not match its Content-Length header'));
        resolve({ length, bytes: () => Buffer.concat(chunks, length) });
      });
    });
  }

  private refusalFor(owners: readonly string[], bytes: number): ApiError | null {
    const { maxBytesTotal, maxBytesOfOwner } = this.limits;
    if (owners.some((owner) => (this.bytesByOwner.get(owner) ?? 0) + bytes > maxBytesOfOwner))
      return new ApiError(
        'rate-limited',
        'this caller is sending too many bytes of request bodies at once; send fewer requests in parallel',
        RETRY_LATER,
      );
    if (this.heldBytes + bytes > maxBytesTotal)
      return new ApiError('unavailable', 'the server is receiving too many bytes of request bodies; retry later', RETRY_LATER);
    return null;
  }

  private add(owners: readonly string[], bytes: number): void {
    this.heldBytes += bytes;
    for (const owner of owners) {
      const ownerBytes = (this.bytesByOwner.get(owner) ?? 0) + bytes;
      if (ownerBytes > 0) this.bytesByOwner.set(owner, ownerBytes);
      else this.bytesByOwner.delete(owner);
    }
  }
}
