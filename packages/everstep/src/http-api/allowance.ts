/** What the plan and the budget of the caller's instance allow: where something begins, and in the words of the API. */
import type { Refusal } from '../accounts/limits.js';
import { ApiError } from '../contract/error-codes.js';
import type { ApiContext } from './operation.js';

type Limited = Pick<ApiContext, 'limits'>;

/** At least a second: a client that waits for none asks again at once. */
const retryAfter = (delayMs: number): Readonly<Record<string, string>> => ({
  'retry-after': String(Math.max(1, Math.ceil(delayMs / 1000))),
});

function errorOf(refusal: Refusal): ApiError {
  switch (refusal.kind) {
    case 'budget-exceeded':
      return new ApiError('budget-exceeded', refusal.message);
    case 'daily-limit':
      return new ApiError('daily-limit-reached', refusal.message, retryAfter(refusal.retryAfterMs));
  }
}

/** Counts the call. Throws ApiError when the instance has made as many in this second as it may. */
export function allowCall({ limits }: Limited, instanceId: string): void {
  const waitMs = limits?.admitCall(instanceId) ?? null;
  if (limits === null || waitMs === null) return;
  const { name, apiCallsPerSecond } = limits.plan(instanceId);
  const message = `the plan ${name} allows ${apiCallsPerSecond} calls of the API a second; slow down, and try again after Retry-After seconds`;
  throw new ApiError('rate-limited', message, retryAfter(waitMs));
}

/** Counts the runs. Throws ApiError when the instance may not start them. */
export async function allowRuns({ limits }: Limited, instanceId: string, runs = 1): Promise<void> {
  const refusal = limits && (await limits.refuseRuns(instanceId, runs));
  if (refusal) throw errorOf(refusal);
}

/** Throws ApiError when the instance may begin nothing that leads to messages. */
export async function allowSpending({ limits }: Limited, instanceId: string): Promise<void> {
  const refusal = limits && (await limits.refuseSpending(instanceId));
  if (refusal) throw errorOf(refusal);
}

/** Throws ApiError when the plan takes no message as long as this. */
export function allowSize({ limits }: Limited, instanceId: string, bytes: Uint8Array): void {
  if (!limits) return;
  const { name, maxMessageBytes } = limits.plan(instanceId);
  if (maxMessageBytes === null || bytes.length <= maxMessageBytes) return;
  throw new ApiError(
    'body-too-large',
    `the plan ${name} takes messages of at most ${maxMessageBytes} bytes, and this has ${bytes.length}`,
  );
}
