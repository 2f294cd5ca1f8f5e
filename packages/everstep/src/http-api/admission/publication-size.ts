/** Limits the total size of the messages of a request. */
import { ApiError } from '../../contract/error-codes.js';
import { type MessageContent, publicationBytes, publicationRefusal } from '../../engine/messages/publication-size.js';

/**
 * Returns the size of a number of copies of a message in bytes. Throws ApiError if they are too large, together with the
 * `earlierBytes` of other messages of the request.
 */
export function allowPublication(content: MessageContent, copies: number, earlierBytes = 0): number {
  const bytes = publicationBytes(content, copies);
  const refusal = publicationRefusal(earlierBytes + bytes);
  if (refusal !== null) throw new ApiError('body-too-large', refusal);
  return bytes;
}
