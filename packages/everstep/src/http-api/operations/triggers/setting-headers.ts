/** Headers with the settings of a run. Their names are given without the prefix. */
import Type, { type StaticDecode, type TOptional, type TSchema } from 'typebox';
import { LIMITS } from '../../../config/limits.js';
import { ApiError } from '../../../contract/error-codes.js';
import { OVERRIDE_HEADERS, SETTING_HEADERS, type SettingHeader, type SettingTable } from '../../../contract/run-settings.js';
import { isWorkerUrl } from '../../../ports/workers.js';
import type { ApiContext, RequestContext } from '../../operation.js';
import {
  ClientSuppliedId,
  Duration,
  FlowControlValue,
  Labels,
  RedactFields,
  ResultWait,
  RetryDelay,
  Text,
  WorkflowUrl,
} from '../../parameters/values.js';

/** Maximum length of the name of a time zone. No IANA name is longer. */
const MAX_TIME_ZONE_LENGTH = 64;

/** Functions that return the schema of a header, by the kind of its value. */
const SCHEMA_FACTORIES = {
  count: ({ maximum, absent, description }: SettingOf<'count'>) =>
    Type.Integer({ minimum: 0, maximum: LIMITS[maximum], default: LIMITS[absent], description }),
  duration: ({ minMs, maxMs, description, examples }: SettingOf<'duration'>) =>
    Duration({ minMs, maxMs: LIMITS[maxMs] }, { description, examples: [...examples] }),
  expression: ({ description, examples }: SettingOf<'expression'>) => RetryDelay({ description, examples: [...examples] }),
  id: ({ description, maxLength }: SettingOf<'id'>) => ClientSuppliedId(LIMITS[maxLength], { description }),
  'flow-control-limits': ({ description, examples }: SettingOf<'flow-control-limits'>) =>
    FlowControlValue({ description, examples: [...examples] }),
  labels: ({ description }: SettingOf<'labels'>) => Labels({ description }),
  url: ({ description }: SettingOf<'url'>) => WorkflowUrl({ description }),
  redaction: ({ description, examples }: SettingOf<'redaction'>) => RedactFields({ description, examples: [...examples] }),
};
type SettingOf<Kind> = Extract<SettingHeader, { readonly kind: Kind }>;
type Schemas<Table extends SettingTable> = {
  [Name in keyof Table]: TOptional<ReturnType<(typeof SCHEMA_FACTORIES)[Table[Name]['kind']]>>;
};

function schemaOf(setting: SettingHeader): TSchema {
  const createSchema: (setting: never) => TSchema = SCHEMA_FACTORIES[setting.kind];
  // The function accepts the setting, because it was selected by its kind.
  return createSchema(setting as never);
}

/** Returns optional headers, one for each setting of the table. */
const headersOf = <Table extends SettingTable>(table: Table): Schemas<Table> =>
  Object.fromEntries(
    Object.entries(table).map(([name, setting]) => [name, Type.Optional(schemaOf(setting))]),
    // Each schema was created for the kind of its setting.
  ) as Schemas<Table>;

/** Headers of a resume or restart, with the settings that it can override. */
export const overrideHeaders = headersOf(OVERRIDE_HEADERS);
/** Headers of triggers and schedules. */
export const settingHeaders = headersOf(SETTING_HEADERS);

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
    ClientSuppliedId(LIMITS.maxRunIdLength, {
      description: 'Id of the schedule. An existing schedule with the id is replaced. Default: a generated id.',
    }),
  ),
  ...settingHeaders,
});
export type ScheduleHeaders = StaticDecode<typeof ScheduleHeaders>;

/** Headers of a trigger. */
export const TriggerHeaders = Type.Object({
  'Workflow-RunId': Type.Optional(
    ClientSuppliedId(LIMITS.maxRunIdLength, {
      description:
        'Id of the run. If an active run has the id, no run is created and the response contains the existing run with `deduplicated: true`.',
    }),
  ),
  ...settingHeaders,
  'Not-Before': Type.Optional(
    Type.Integer({ minimum: 0, description: 'Time when the run starts, in Unix seconds. Overrides `Delay`.' }),
  ),
  'Deduplication-Id': Type.Optional(
    Text(LIMITS.maxDeduplicationIdLength, {
      description: `Deduplication id. A second trigger with the same id within ${LIMITS.deduplicationWindowMs / 60_000} minutes does not create a run.`,
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
});
export type TriggerHeaders = StaticDecode<typeof TriggerHeaders>;

export const FORWARD = 'Forward-';
export const FAILURE_CALLBACK_FORWARD = 'Failure-Callback-Forward-';
/**
 * Families of headers that a trigger accepts, with their descriptions. The longer name comes first, because a header belongs to
 * the first family that matches.
 */
export const TRIGGER_FAMILIES = Object.freeze({
  [FAILURE_CALLBACK_FORWARD]: 'Sent as a header of the failure callback, without the prefix.',
  [FORWARD]: 'Sent as a header to the workflow, without the prefix.',
});

/** Request and queue instance for which a destination is checked. */
export interface DestinationContext {
  readonly context: ApiContext;
  readonly request: RequestContext;
  readonly instanceId: string;
}

/**
 * Throws ApiError if the instance must not call the URL. `header` is the name of the header with the URL, or null for the
 * workflow URL.
 */
export function checkDestination(url: string, header: string | null, destinationContext: DestinationContext): void {
  if (isWorkerUrl(url)) return;
  const verdict = destinationContext.context.destinationPolicy?.check(url, destinationContext.instanceId);
  if (verdict === undefined || verdict.ok) return;
  const subject = header === null ? 'the workflow URL' : destinationContext.request.dialect.spell(header);
  throw new ApiError('blocked-address', `${subject} is not allowed: ${verdict.message}`);
}
