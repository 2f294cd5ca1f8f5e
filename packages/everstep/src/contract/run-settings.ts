/**
 * Headers with settings of a run, without their prefix. The schemas of the headers, their conversion to settings and the
 * options of the command line are derived from these tables.
 */
import type { LIMITS } from '../config/limits.js';
import type { RunSettings } from '../engine/runs/settings.js';

type LimitName = keyof typeof LIMITS;

type SettingValue =
  /** `absent` is the default if the header is absent: the name of a limit, or a value. */
  | { readonly kind: 'count'; readonly maximum: LimitName; readonly absent: LimitName }
  | { readonly kind: 'duration'; readonly minMs: number; readonly maxMs: LimitName; readonly absent?: LimitName }
  | { readonly kind: 'expression'; readonly absent: null }
  | { readonly kind: 'labels'; readonly absent: readonly string[] }
  | { readonly kind: 'redaction' }
  | { readonly kind: 'id'; readonly maxLength: LimitName }
  | { readonly kind: 'flow-control-limits' }
  | { readonly kind: 'url' };

/** A header with a setting. */
export type SettingHeader = SettingValue & {
  /** Setting whose value this header alone determines. */
  readonly field?: keyof RunSettings;
  readonly description: string;
  readonly examples: readonly string[];
  /** Option of the command line, its help, and the SDK option that it sets. */
  readonly option?: { readonly flag: string; readonly help: string; readonly sets: string };
};
export type SettingTable = Readonly<Record<string, SettingHeader>>;

/** Headers of triggers and schedules that a resume or restart also accepts. */
export const OVERRIDE_HEADERS = {
  Retries: {
    kind: 'count',
    maximum: 'maxRetries',
    absent: 'defaultRetries',
    field: 'maxRetries',
    description: 'Number of retries of each step. 0 means a single attempt.',
    examples: [],
    option: { flag: '--retries <number>', help: 'maximum number of retries of each step', sets: 'retries' },
  },
  'Retry-Delay': {
    kind: 'expression',
    absent: null,
    field: 'retryDelay',
    description:
      'Delay before a retry in milliseconds: an expression over `retried` with + - * / % ( ) and pow, exp, sqrt, abs, floor, ceil, round, min, max. Default: e^(2.5 n) seconds before the n-th retry, at most a day.',
    examples: ['1000', 'pow(2, retried) * 1000'],
    option: {
      flag: '--retry-delay <expression>',
      help: 'delay before a retry in ms, as an expression of `retried`: "1000 * (1 + retried)"',
      sets: 'retryDelay',
    },
  },
  Delay: {
    kind: 'duration',
    minMs: 0,
    maxMs: 'maxDelayMs',
    description:
      'Delay before the run starts, in the form `<value><unit>` with the units s, m, h and d. A number without a unit is in seconds.',
    examples: ['30s', '1d10h'],
    option: { flag: '--delay <duration>', help: 'delay before the start, such as 30s, 10m or 1d', sets: 'delay' },
  },
  'Flow-Control-Key': {
    kind: 'id',
    maxLength: 'maxFlowControlKeyLength',
    description: 'Flow control key of the run.',
    examples: [],
  },
  'Flow-Control-Value': {
    kind: 'flow-control-limits',
    description: 'Limits of the flow control key: parallelism, rate or both. The period belongs to the rate. Default period: 1s.',
    examples: ['parallelism=5, rate=10, period=1m'],
  },
  Label: {
    kind: 'labels',
    absent: [],
    field: 'labels',
    description: 'Label of the run, or several labels separated by commas.',
    examples: [],
    option: { flag: '--label <label>', help: 'label; may be repeated', sets: 'labels' },
  },
  'Failure-Callback': { kind: 'url', description: 'URL that is called when the run fails.', examples: [] },
} as const satisfies SettingTable;

/** Headers of triggers and schedules. */
export const SETTING_HEADERS = {
  ...OVERRIDE_HEADERS,
  Timeout: {
    kind: 'duration',
    minMs: 1_000,
    maxMs: 'maxDeliveryTimeoutMs',
    absent: 'defaultDeliveryTimeoutMs',
    field: 'deliveryTimeoutMs',
    description: 'Maximum duration of one call to the workflow endpoint.',
    examples: ['30s', '15m'],
    option: { flag: '--timeout <duration>', help: 'timeout of each request to the workflow', sets: 'timeout' },
  },
  'Redact-Fields': {
    kind: 'redaction',
    field: 'redact',
    description:
      'Fields that logs and listings do not show, separated by commas: `body`, `header`, `header[<name>]`, and names of JSON fields, as `<name>` or `body[<name>]`.',
    examples: ['body', 'header[authorization], iban'],
    option: {
      flag: '--redact <what>',
      help: 'value to hide in logs and listings: body, header, header[name] or a JSON field; may be repeated',
      sets: 'redact',
    },
  },
} as const satisfies SettingTable;

type FieldsOf<Table extends SettingTable> = Extract<Table[keyof Table], { readonly field: keyof RunSettings }>['field'];
/** Settings of a run that are each determined by one header. */
export type HeaderSetting = FieldsOf<typeof SETTING_HEADERS>;
/** Settings that a resume or restart replaces, each with the value of one header. */
export type OverrideSetting = FieldsOf<typeof OVERRIDE_HEADERS>;
