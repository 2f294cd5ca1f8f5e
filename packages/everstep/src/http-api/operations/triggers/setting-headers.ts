/** Headers with the settings of a run. Names are without the prefix. */
import Type, { type StaticDecode } from 'typebox';
import { LIMITS } from '../../../config/limits.js';
import { ApiError } from '../../../contract/error-codes.js';
import type { ApiContext, RequestContext } from '../../operation.js';
import {
  ChosenId,
  Destination,
  Duration,
  FlowControlValue,
  Labels,
  RedactFields,
  ResultWait,
  RetryDelay,
  Text,
} from '../../parameters/values.js';

/** Longer than the name of any time zone. */
const MAX_TIME_ZONE_LENGTH = 64;

export const settingHeaders = {
  Retries: Type.Optional(
    Type.Integer({
      minimum: 0,
      maximum: LIMITS.maxRetries,
      default: LIMITS.defaultRetries,
      description: 'Number of retries of each step. 0 means a single attempt.',
    }),
  ),
  'Retry-Delay': Type.Optional(
    RetryDelay({
      description:
        'Delay before a retry in milliseconds: an expression over `retried` with + - * / % ( ) and pow, exp, sqrt, abs, floor, ceil, round, min, max. Default: e^(2.5 n) seconds before the n-th retry, at most a day.',
      examples: ['1000', 'pow(2, retried) * 1000'],
    }),
  ),
  Delay: Type.Optional(
    Duration(
      { leastMs: 0, mostMs: LIMITS.maxDelayMs },
      {
        description:
          'Delay before the run starts, in the form `<value><unit>` with the units s, m, h and d. A number without a unit is in seconds.',
        examples: ['30s', '1d10h'],
      },
    ),
  ),
  'Flow-Control-Key': Type.Optional(ChosenId(LIMITS.maxFlowControlKeyLength, { description: 'Flow control key of the run.' })),
  'Flow-Control-Value': Type.Optional(
    FlowControlValue({
      description:
        'Limits of the flow control key: parallelism, rate or both. The period belongs to the rate. Default period: 1s.',
      examples: ['parallelism=5, rate=10, period=1m'],
    }),
  ),
  Label: Type.Optional(Labels({ description: 'Label of the run, or several labels separated by commas.' })),
  'Failure-Callback': Type.Optional(Destination({ description: 'URL that is called when the run fails.' })),
};

const redactFields = RedactFields({
  description:
    'Fields that logs and listings do not show, separated by commas: `body`, `header`, `header[<name>]`, and names of JSON fields, as `<name>` or `body[<name>]`.',
  examples: ['body', 'header[authorization], iban'],
});
const timeout = Duration(
  { leastMs: 1_000, mostMs: LIMITS.maxDeliveryTimeoutMs },
  { description: 'Maximum duration of one call of the workflow endpoint.', examples: ['30s', '15m'] },
);

/** Headers of a schedule. Its runs get generated ids and cannot be waited for. */
export const ScheduleHeaders = Type.Object({
  Cron: Type.String({
    minLength: 1,
    maxLength: LIMITS.maxCronLength,
    description:
      'Cron expression in UTC: five fields, or six with seconds first. To use another time zone, put it first, as in `CRON_TZ=Europe/Berlin 0 9 * * *`, or send Cron-Timezone.',
    examples: ['*/5 * * * *', 'CRON_TZ=Europe/Berlin 0 9 * * MON-FRI'],
  }),
  'Cron-Timezone': Type.Optional(
    Text(MAX_TIME_ZONE_LENGTH, { description: 'IANA name of the time zone, for example `Europe/Berlin`.' }),
  ),
  'Schedule-Id': Type.Optional(
    ChosenId(LIMITS.maxRunIdLength, {
      description: 'Id of the schedule. An existing schedule with the id is replaced. Default: a generated id.',
    }),
  ),
  ...settingHeaders,
  Timeout: Type.Optional(timeout),
  'Redact-Fields': Type.Optional(redactFields),
});
export type ScheduleHeaders = StaticDecode<typeof ScheduleHeaders>;

/** Headers of a trigger. */
export const TriggerHeaders = Type.Object({
  'Workflow-RunId': Type.Optional(
    ChosenId(LIMITS.maxRunIdLength, {
      description:
        'Id of the run. If an active run has the id, no run is created and the response contains the existing run with `deduplicated: true`.',
    }),
  ),
  ...settingHeaders,
  'Not-Before': Type.Optional(
    Type.Integer({ minimum: 0, description: 'Time when the run starts, in Unix seconds. Overrides `Delay`.' }),
  ),
  Timeout: Type.Optional(timeout),
  'Deduplication-Id': Type.Optional(
    Text(LIMITS.maxDeduplicationIdLength, {
      description: `Deduplication id. A second trigger with the same id within ${LIMITS.deduplicationWindowMs / 60_000} minutes creates no run.`,
    }),
  ),
  'Content-Based-Deduplication': Type.Optional(
    Type.Boolean({
      description: 'Derives the deduplication id from the URL, the body, its content type and the forwarded headers.',
    }),
  ),
  'Wait-For-Result': Type.Optional(
    ResultWait({
      description: `Waits for the run: responds when it has ended, or with 202 after this time. \`true\` waits ${LIMITS.defaultResultWaitMs / 1_000} seconds.`,
      examples: ['true', '30s'],
    }),
  ),
  'Redact-Fields': Type.Optional(redactFields),
});
export type TriggerHeaders = StaticDecode<typeof TriggerHeaders>;

export const FORWARD = 'Forward-';
export const FAILURE_CALLBACK_FORWARD = 'Failure-Callback-Forward-';
/** The longer name comes first, because a header belongs to the first family that matches. */
export const TRIGGER_FAMILIES = Object.freeze({
  [FAILURE_CALLBACK_FORWARD]: 'Sent as a header of the failure callback, without the prefix.',
  [FORWARD]: 'Sent as a header to the workflow, without the prefix.',
});

/** Caller that a destination is checked for. */
export interface DestinationUse {
  readonly context: ApiContext;
  readonly request: RequestContext;
  readonly instanceId: string;
}

/**
 * Throws ApiError when the instance must not call the URL. `header` is the header that contains the URL; null stands for
 * the workflow URL.
 */
export function checkDestination(url: string, header: string | null, use: DestinationUse): void {
  const verdict = use.context.addressPolicy?.check(url, use.instanceId);
  if (verdict === undefined || verdict.ok) return;
  const where = header === null ? 'the workflow URL' : use.request.dialect.spell(header);
  throw new ApiError('blocked-address', `${where} must not be called: ${verdict.message}`);
}
