/** Headers that set how a run goes; names without the prefix. */
import Type, { type StaticDecode } from 'typebox';
import { LIMITS } from '../../config/limits.js';
import { ApiError } from '../../contract/error-codes.js';
import type { ApiContext, RequestContext } from '../operation.js';
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
} from '../parameters/values.js';

/** No name of a time zone is nearly so long. */
const MAX_TIME_ZONE_LENGTH = 64;

export const settingHeaders = {
  Retries: Type.Optional(
    Type.Integer({
      minimum: 0,
      maximum: LIMITS.maxRetries,
      default: LIMITS.defaultRetries,
      description: 'Retries for each step; 0 tries once.',
    }),
  ),
  'Retry-Delay': Type.Optional(
    RetryDelay({
      description:
        'Delay before a retry in ms: an expression over `retried` with + - * / % ( ) and pow, exp, sqrt, abs, floor, ceil, round, min, max. Default: e^(2.5 n) s for the n-th retry, at most a day.',
      examples: ['1000', 'pow(2, retried) * 1000'],
    }),
  ),
  Delay: Type.Optional(
    Duration(
      { leastMs: 0, mostMs: LIMITS.maxDelayMs },
      {
        description: 'Delay before the run starts, form `<value><unit>` with s, m, h, d; a bare number is seconds.',
        examples: ['30s', '1d10h'],
      },
    ),
  ),
  'Flow-Control-Key': Type.Optional(ChosenId(LIMITS.maxFlowControlKeyLength, { description: 'Flow control key of the run.' })),
  'Flow-Control-Value': Type.Optional(
    FlowControlValue({
      description: 'Limits of the key; parallelism or rate, or both. The period is that of the rate, 1s when absent.',
      examples: ['parallelism=5, rate=10, period=1m'],
    }),
  ),
  Label: Type.Optional(Labels({ description: 'A label, or several with commas between.' })),
  'Failure-Callback': Type.Optional(Destination({ description: 'URL to call when the run has failed.' })),
};

const redactFields = RedactFields({
  description:
    'What logs and listings do not show, with commas between: `body`, `header`, `header[<name>]`, and names of JSON fields, bare or as `body[<name>]`.',
  examples: ['body', 'header[authorization], iban'],
});
const timeout = Duration(
  { leastMs: 1_000, mostMs: LIMITS.maxDeliveryTimeoutMs },
  { description: 'How long one call of the workflow endpoint may take.', examples: ['30s', '15m'] },
);

/** All that a schedule takes for its runs. Each of them has an id of its own, so it takes none, and nobody waits for them. */
export const ScheduleHeaders = Type.Object({
  Cron: Type.String({
    minLength: 1,
    maxLength: LIMITS.maxCronLength,
    description:
      'When it ticks: five fields, or six with seconds in front, in UTC; another time zone stands in front of them, `CRON_TZ=Europe/Berlin 0 9 * * *`, or in Cron-Timezone.',
    examples: ['*/5 * * * *', 'CRON_TZ=Europe/Berlin 0 9 * * MON-FRI'],
  }),
  'Cron-Timezone': Type.Optional(
    Text(MAX_TIME_ZONE_LENGTH, { description: 'IANA name of the time zone, such as Europe/Berlin.' }),
  ),
  'Schedule-Id': Type.Optional(
    ChosenId(LIMITS.maxRunIdLength, { description: 'ID of the schedule; one that has it is replaced. Made when absent.' }),
  ),
  ...settingHeaders,
  Timeout: Type.Optional(timeout),
  'Redact-Fields': Type.Optional(redactFields),
});
export type ScheduleHeaders = StaticDecode<typeof ScheduleHeaders>;

/** All that a trigger takes. */
export const TriggerHeaders = Type.Object({
  'Workflow-RunId': Type.Optional(
    ChosenId(LIMITS.maxRunIdLength, {
      description:
        'ID of the run. While an active run has it, no other is created: that one is answered, with deduplicated: true.',
    }),
  ),
  ...settingHeaders,
  'Not-Before': Type.Optional(
    Type.Integer({ minimum: 0, description: 'Starts the run at this time, Unix seconds; wins over Delay.' }),
  ),
  Timeout: Type.Optional(timeout),
  'Deduplication-Id': Type.Optional(
    Text(LIMITS.maxDeduplicationIdLength, {
      description: `A second trigger with the same ID within ${LIMITS.deduplicationWindowMs / 60_000} minutes creates no run.`,
    }),
  ),
  'Content-Based-Deduplication': Type.Optional(
    Type.Boolean({ description: 'The ID is made of the URL, the body, its type and the forwarded headers.' }),
  ),
  'Wait-For-Result': Type.Optional(
    ResultWait({
      description: `Answers when the run has ended, or with 202 after this time; true waits ${LIMITS.defaultResultWaitMs / 1_000} s.`,
      examples: ['true', '30s'],
    }),
  ),
  'Redact-Fields': Type.Optional(redactFields),
});
export type TriggerHeaders = StaticDecode<typeof TriggerHeaders>;

export const FORWARD = 'Forward-';
export const FAILURE_CALLBACK_FORWARD = 'Failure-Callback-Forward-';
/** The longer name first: a header belongs to the first family that fits. */
export const TRIGGER_FAMILIES = Object.freeze({
  [FAILURE_CALLBACK_FORWARD]: 'Sent with the failure callback, without the prefix.',
  [FORWARD]: 'Sent on to the workflow, without the prefix.',
});

/** The one who asks for the call. */
export interface DestinationUse {
  readonly context: ApiContext;
  readonly request: RequestContext;
  readonly instanceId: string;
}

/** Throws ApiError when the instance may not call the URL. `header` names where it stood; null: it is the workflow URL. */
export function checkDestination(url: string, header: string | null, use: DestinationUse): void {
  const verdict = use.context.addressPolicy?.check(url, use.instanceId);
  if (verdict === undefined || verdict.ok) return;
  const where = header === null ? 'the workflow URL' : use.request.dialect.spell(header);
  throw new ApiError('blocked-address', `${where} may not be called: ${verdict.message}`);
}
