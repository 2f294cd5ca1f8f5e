/** Limits the size of messages that are published together. Each endpoint of a URL group receives its own copy of a message. */
import { LIMITS } from '../../config/limits.js';
import type { RunPayload } from '../runs/run.js';
import { contentBytes } from '../writes/stored-size.js';

/** What each copy of a message stores. */
export interface MessageContent {
  readonly payload: RunPayload;
  readonly settings: object;
}

/** Returns the total size of a number of copies of a message in bytes. */
export const publicationBytes = ({ payload, settings }: MessageContent, copies: number): number =>
  copies *
  (LIMITS.assumedMessageBytes + contentBytes(payload.body, JSON.stringify(payload.forwardHeaders), JSON.stringify(settings)));

/** Returns why messages of this total size must not be published together; null if they may be. */
export const publicationRefusal = (bytes: number): string | null =>
  bytes <= LIMITS.maxPublishedBytes
    ? null
    : `the messages have ${bytes} bytes in total, but a request or a schedule can publish at most ${LIMITS.maxPublishedBytes} bytes at once; each endpoint of a URL group counts with the body, headers and settings of its message and ${LIMITS.assumedMessageBytes} bytes. Send smaller messages, or use smaller URL groups`;
