/**
 * Checks requests against the plan and the budget of the queue instance, and converts refusals to API errors.
 * Keeps invariant 18.
 */
import { type Refusal, sizeMessage } from '../../accounts/plans/limits.js';
import type { RefusalKind } from '../../accounts/plans/refusals.js';
import { ApiError, type ErrorCode } from '../../contract/error-codes.js';
import { type RunAdmission, UNBOUNDED } from '../../ports/stores/instance-limits.js';
import { type ApiContext, maxBodyBytesOf, type Operation } from '../operation.js';
import { formatDuration } from '../parameters/duration.js';
import type { BodyOptions } from '../requests/request-bodies.js';

type LimitsContext = Pick<ApiContext, 'limits'>;

type Headers = Readonly<Record<string, string>>;

/** Returns the Retry-After header. The value is at least a second, because a client that does not wait retries immediately. */
const retryAfter = (delayMs: number): Headers => ({ 'retry-after': String(Math.max(1, Math.ceil(delayMs / 1000))) });

/**
 * Returns the headers that describe a limit. `resetAt` is the time when it is fully available again, in Unix ms. Published
 * clients distinguish limits by these headers.
 */
const limitHeaders = (family: string, limit: number, remaining: number, resetAt: number): Headers => ({
  [`${family}-limit`]: String(limit),
  [`${family}-remaining`]: String(Math.max(0, remaining)),
  [`${family}-reset`]: String(Math.ceil(resetAt / 1000)),
});

/** Counts the refusal for the owner and returns the API error. */
function refusalError(
  { limits }: LimitsContext,
  instanceId: string,
  kind: RefusalKind & ErrorCode,
  message: string,
  headers: Headers = {},
): ApiError {
  limits?.countRefusal(instanceId, kind);
  return new ApiError(kind, message, headers);
}

function errorOf(context: LimitsContext, instanceId: string, refusal: Refusal): ApiError {
  switch (refusal.kind) {
    case 'budget-exceeded':
    case 'storage-quota-exceeded':
    case 'too-many-active-runs':
      return refusalError(context, instanceId, refusal.kind, refusal.message);
    case 'daily-limit':
      return refusalError(context, instanceId, 'daily-limit-reached', refusal.message, {
        ...retryAfter(refusal.retryAfterMs),
        ...limitHeaders('ratelimit', refusal.limit, refusal.limit - refusal.startedToday, refusal.resetAt),
      });
  }
}

/** Counts a call to the runtime API. Throws ApiError if the instance has reached its limit of calls per second. */
export function allowCall(context: Pick<ApiContext, 'limits' | 'service'>, instanceId: string): void {
  const { limits } = context;
  const waitMs = limits?.admitCall(instanceId) ?? null;
  if (limits === null || waitMs === null) return;
  const { name, apiCallsPerSecond } = limits.plan(instanceId);
  const message = `the plan ${name} limits API calls to ${apiCallsPerSecond} per second; retry after the number of seconds in Retry-After`;
  const resetAt = context.service.now() + waitMs;
  throw refusalError(context, instanceId, 'rate-limited', message, {
    ...retryAfter(waitMs),
    ...limitHeaders('burst-ratelimit', apiCallsPerSecond ?? 0, 0, resetAt),
  });
}

/** Counts a call to the search API toward the limit of the account that owns the index, whichever token is used. */
export async function allowSearchCall({ limits, search }: Pick<ApiContext, 'limits' | 'search'>, indexId: string): Promise<void> {
  const accountId = limits && (await search.ownerOf(indexId));
  const waitMs = limits && accountId ? await limits.admitSearchCall(accountId) : null;
  if (waitMs === null) return;
  const message = 'the account has reached the limit of search calls per second of its plan (apiCallsPerSecond)';
  throw new ApiError('rate-limited', `${message}; retry after the number of seconds in Retry-After`, retryAfter(waitMs));
}

/** Counts runs before they are started. Throws ApiError if the instance may not start them. */
export async function allowRuns({ limits }: LimitsContext, instanceId: string, runs = 1): Promise<RunAdmission> {
  const admission = limits === null ? UNBOUNDED : await limits.admitRuns(instanceId, runs);
  if (admission.kind !== 'admitted') throw errorOf({ limits }, instanceId, admission);
  return admission;
}

/** Number of runs that an instance may start, and their admission. */
export interface AllowedRuns {
  readonly runs: number;
  readonly runAdmission: RunAdmission;
}

/** Like `startAllowedRuns`, for runs that were allowed separately. The outcomes are in the order of `allowedBatches`. */
export async function startAllowedBatches<Outcome>(
  { limits }: LimitsContext,
  instanceId: string,
  allowedBatches: readonly AllowedRuns[],
  start: () => Promise<readonly Outcome[]>,
  countStarted: (outcome: Outcome | undefined) => number,
): Promise<readonly Outcome[]> {
  try {
    const outcomes = await start();
    for (const [index, { runs, runAdmission }] of allowedBatches.entries())
      limits?.releaseRuns(instanceId, runs - countStarted(outcomes[index]), runAdmission);
    return outcomes;
  } catch (error) {
    limits?.recount(instanceId);
    throw error;
  }
}

/**
 * Starts runs that were allowed. `countStarted` returns how many of them were started. Runs that were not started, for example
 * because they already existed, do not count against the daily limit.
 */
export async function startAllowedRuns<Outcome>(
  { limits }: LimitsContext,
  { instanceId, runs, runAdmission }: AllowedRuns & { readonly instanceId: string },
  start: () => Promise<Outcome>,
  countStarted: (outcome: Outcome) => number,
): Promise<Outcome> {
  try {
    const outcome = await start();
    limits?.releaseRuns(instanceId, runs - countStarted(outcome), runAdmission);
    return outcome;
  } catch (error) {
    limits?.recount(instanceId);
    throw error;
  }
}

/** Throws ApiError if the instance may not start work that sends messages, for example because its budget is spent. */
export async function allowSpending({ limits }: LimitsContext, instanceId: string): Promise<void> {
  const refusal = limits && (await limits.refuseSpending(instanceId));
  if (refusal) throw errorOf({ limits }, instanceId, refusal);
}

/** Returns the error for exceeding the schedule limit of the plan. */
export const tooManySchedules = (context: LimitsContext, instanceId: string, message: string): ApiError =>
  refusalError(context, instanceId, 'too-many-schedules', message);

/** Returns the error for exceeding the storage quota of the account. */
export const overQuota = (context: LimitsContext, instanceId: string, message: string): ApiError =>
  refusalError(context, instanceId, 'storage-quota-exceeded', message);

/** Throws ApiError if the timeout in the header is longer than the instance may use. */
export function allowTimeout({ limits }: LimitsContext, instanceId: string, header: string, timeoutMs: number | undefined): void {
  if (limits === null || timeoutMs === undefined) return;
  const maxMs = limits.maxTimeoutMs(instanceId);
  if (timeoutMs <= maxMs) return;
  const { name, maxTimeoutMs } = limits.plan(instanceId);
  const limitSource = maxTimeoutMs === maxMs ? `the plan ${name}` : 'this installation (EVERSTEP_MAX_TIMEOUT)';
  throw new ApiError('bad-header', `${header} must be at most ${formatDuration(maxMs)}, the limit of ${limitSource}`);
}

/** Throws ApiError if a message is larger than the plan allows. */
export function allowSize({ limits }: LimitsContext, instanceId: string, bytes: Uint8Array): void {
  const limit = limits?.messageLimit(instanceId) ?? null;
  if (limit === null || bytes.length <= limit.maxBytes) return;
  throw refusalError({ limits }, instanceId, 'body-too-large', sizeMessage(limit.plan, limit.maxBytes, bytes.length));
}

/** Returns the size limit of a request body, so that a larger one is rejected before it is received. */
export function bodySizeLimit(
  context: LimitsContext,
  operation: Operation,
  instanceId: string | null,
): Omit<BodyOptions, 'owners'> {
  const limit = instanceId === null ? null : (context.limits?.messageLimit(instanceId) ?? null);
  if (limit === null || instanceId === null) return { maxBytes: maxBodyBytesOf(operation) };
  const { plan, maxBytes: maxMessageBytes } = limit;
  return {
    maxBytes: maxBodyBytesOf(operation, maxMessageBytes),
    createSizeError: (maxBytes, bytes) => refusalError(context, instanceId, 'body-too-large', sizeMessage(plan, maxBytes, bytes)),
  };
}
