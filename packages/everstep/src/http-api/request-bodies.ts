/**
 * Collects request bodies within bounds: of one request, of all requests of one owner, and in all. The bytes count from
 * their arrival until the request is answered, so slow or unfinished uploads cannot fill the memory.
 */
import type { FastifyReply, FastifyRequest } from 'fastify';
import { LIMITS } from '../config/limits.js';
import { ApiError } from '../contract/error-codes.js';

const RETRY_LATER = { 'retry-after': '1' };

export interface BodyLimits {
  readonly maxBytesInAll: number;
  readonly maxBytesOfOwner: number;
}

export const BODY_LIMITS: BodyLimits = {
  maxBytesInAll: LIMITS.maxHeldBodyBytes,
  maxBytesOfOwner: LIMITS.maxHeldBodyBytesOfOwner,
};

const tooLarge = (maxBytes: number): ApiError =>
  new ApiError('body-too-large', `the body is over the limit of ${maxBytes} bytes`);

export class RequestBodies {
  private readonly limits: BodyLimits;
  private readonly perOwner = new Map<string, number>();
  private heldBytes = 0;

  constructor(limits: BodyLimits = BODY_LIMITS) {
    this.limits = limits;
  }

  get bytes(): number {
    return this.heldBytes;
  }

  /**
   * Resolves with the body. Rejects with ApiError `body-too-large`, `rate-limited` (the owner has too many bytes under way),
   * `unavailable` (all owners together) or `bad-request` (the body does not have its announced length).
   */
  collect(
    request: FastifyRequest,
    reply: FastifyReply,
    { owner, maxBytes }: { owner: string; maxBytes: number },
  ): Promise<Buffer> {
    const { raw, headers } = request;
    const announced = headers['content-length'] === undefined ? null : Number(headers['content-length']);
    if (announced !== null && announced > maxBytes) return Promise.reject(tooLarge(maxBytes));
    return new Promise((resolve, reject) => {
      const chunks: Buffer[] = [];
      let length = 0;
      let held = 0;
      reply.raw.once('close', () => {
        this.add(owner, -held);
        held = 0;
        if (!raw.complete) reject(new ApiError('bad-request', 'the request ended before it was whole'));
      });
      const stop = (error: ApiError) => {
        chunks.length = 0;
        raw.off('data', take);
        reject(error);
      };
      const take = (chunk: Buffer): void => {
        length += chunk.length;
        const refusal = length > maxBytes ? tooLarge(maxBytes) : this.refusalFor(owner, chunk.length);
        if (refusal) {
          stop(refusal);
          return;
        }
        this.add(owner, chunk.length);
        held += chunk.length;
        chunks.push(chunk);
      };
      raw.on('data', take);
      raw.once('error', reject);
      raw.once('end', () => {
        if (announced !== null && announced !== length)
          return reject(new ApiError('bad-request', 'the body is shorter or longer than its Content-Length says'));
        // A copy: a chunk is a view of the buffer into which the socket is read.
        resolve(Buffer.concat(chunks, length));
      });
    });
  }

  private refusalFor(owner: string, bytes: number): ApiError | null {
    const { maxBytesInAll, maxBytesOfOwner } = this.limits;
    if ((this.perOwner.get(owner) ?? 0) + bytes > maxBytesOfOwner)
      return new ApiError(
        'rate-limited',
        'too many bytes of request bodies are under way for this caller; send fewer at once',
        RETRY_LATER,
      );
    if (this.heldBytes + bytes > maxBytesInAll)
      return new ApiError('unavailable', 'too many bytes of request bodies are under way; retry later', RETRY_LATER);
    return null;
  }

  private add(owner: string, bytes: number): void {
    this.heldBytes += bytes;
    const left = (this.perOwner.get(owner) ?? 0) + bytes;
    if (left > 0) this.perOwner.set(owner, left);
    else this.perOwner.delete(owner);
  }
}
