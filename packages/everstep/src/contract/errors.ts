/** Body of every error response. */
import Type from 'typebox';
import { NO_OTHER_PROPERTIES } from './fields/no-other-properties.js';

/** Reason why a server is not ready. The values are stable, so that programs can rely on them. */
export const NOT_READY_REASONS = ['starting', 'stopping', 'store-unavailable', 'store-unreadable', 'no-lease'] as const;
export type NotReadyReason = (typeof NOT_READY_REASONS)[number];

export const ErrorBody = Type.Object(
  {
    error: Type.String({ description: 'What is wrong and what to do.' }),
    reason: Type.Optional(
      Type.Enum([...NOT_READY_REASONS], {
        type: 'string',
        description:
          'Only in responses of `GET /ready`: why the server is not ready. `store-unavailable`: the store rejects writes or cannot be reached. `store-unreadable`: a read from the store failed or timed out. `no-lease`: this node has no database lease.',
      }),
    ),
  },
  {
    ...NO_OTHER_PROPERTIES,
    description: 'Body of every error response. The stable error code is in a response header.',
  },
);
