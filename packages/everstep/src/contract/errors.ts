/** Body of every error response. */
import Type from 'typebox';
import { NO_OTHER_PROPERTIES } from './fields/no-other-properties.js';

/** Reason why a server is not ready. The values are stable, so that programs can rely on them. */
export const NOT_READY_REASONS = ['starting', 'stopping', 'store-unavailable', 'store-unreadable', 'no-lease'] as const;
export type NotReadyReason = (typeof NOT_READY_REASONS)[number];

/** Header of `GET /ready` with the reason, without the prefix of a dialect. */
export const NOT_READY_HEADER = 'Not-Ready-Reason';

export const ErrorBody = Type.Object(
  {
    error: Type.String({ description: 'What is wrong and what to do.' }),
  },
  {
    ...NO_OTHER_PROPERTIES,
    description: 'Body of every error response. The stable error code is in a response header.',
  },
);
