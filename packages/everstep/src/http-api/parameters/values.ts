/**
 * Schemas of parameters and headers. Each is a TypeBox schema that validates, documents and types the value. If the value is
 * not a string, for example a duration in milliseconds, a codec of the schema converts the text.
 */
import Type, { type TSchemaOptions, type TStringOptions } from 'typebox';
import { LIMITS } from '../../config/limits.js';
import { isPathSafe, PATH_SAFE_REQUIREMENT } from '../../dialects/path-safe-ids.js';
import { parseRetryDelay } from '../../engine/schedules/retry-delay.js';
import { parseDestination, parseWorkflowUrl } from './destination.js';
import { DURATION_FORM, formatDuration, parseDuration } from './duration.js';
import { parseFlowControlValue } from './flow-control-value.js';
import { parseRedactFields } from './redact-fields.js';
import { InvalidValueError, quoteValue } from './value-errors.js';

/** Encoder of all codecs: values are only read, never written. */
function rejectEncoding(): never {
  throw new Error('parameter values cannot be encoded');
}

/** Time in Unix milliseconds. As a bound of a range, it is inclusive. */
export const UnixMs = (description: string) => Type.Integer({ minimum: 0, format: 'int64', description });

export const Duration = (bounds: { readonly minMs: number; readonly maxMs: number }, options: TSchemaOptions) =>
  Type.Codec(Type.String({ minLength: 1, pattern: '^(\\d+|(\\d+[smhd])+)$', ...options }))
    .Decode((text) => readDuration(text, bounds))
    .Encode(rejectEncoding);

export function readDuration(text: string, { minMs, maxMs }: { readonly minMs: number; readonly maxMs: number }): number {
  const ms = parseDuration(text);
  if (ms === null) throw new InvalidValueError(`must be ${DURATION_FORM}, not ${quoteValue(text)}`);
  if (ms >= minMs && ms <= maxMs) return ms;
  throw new InvalidValueError(`must be from ${formatDuration(minMs)} to ${formatDuration(maxMs)}, not ${quoteValue(text)}`);
}

/** Time to wait for a result in milliseconds: a duration, `true` for the default, or `false` (null) to not wait. */
export const ResultWait = (options: TSchemaOptions) =>
  Type.Codec(Type.String({ minLength: 1, pattern: '^(true|false|\\d+|(\\d+[smhd])+)$', ...options }))
    .Decode((text): number | null => {
      if (text === 'false') return null;
      if (text === 'true') return LIMITS.defaultResultWaitMs;
      return readDuration(text, { minMs: 0, maxMs: LIMITS.maxResultWaitMs });
    })
    .Encode(rejectEncoding);

/** One label or several labels separated by commas. Duplicates are removed. */
export const Labels = (options: TSchemaOptions) =>
  Type.Codec(Type.String({ minLength: 1, ...options }))
    .Decode((text): readonly string[] => {
      const labels = [...new Set(text.split(',').map((label) => label.trim()))];
      if (labels.includes(''))
        throw new InvalidValueError(`must be non-empty labels separated by commas, not ${quoteValue(text)}`);
      if (labels.length > LIMITS.maxLabels)
        throw new InvalidValueError(`must contain at most ${LIMITS.maxLabels} labels, but contains ${labels.length}`);
      const longLabel = labels.find((label) => label.length > LIMITS.maxLabelLength);
      if (longLabel !== undefined)
        throw new InvalidValueError(
          `must not contain a label longer than ${LIMITS.maxLabelLength} characters, such as ${quoteValue(longLabel)}`,
        );
      return labels;
    })
    .Encode(rejectEncoding);

/** Expression of a retry delay. It is validated, but not converted. */
export const RetryDelay = (options: TSchemaOptions) =>
  Type.Codec(Type.String({ minLength: 1, maxLength: LIMITS.maxRetryExpressionLength, ...options }))
    .Decode((text) => {
      const parsedExpression = parseRetryDelay(text);
      if (!parsedExpression.ok)
        throw new InvalidValueError(
          `is not a valid expression: ${parsedExpression.message} (in ${quoteValue(text)})`,
          'bad-expression',
        );
      return text;
    })
    .Encode(rejectEncoding);

export const FlowControlValue = (options: TSchemaOptions) =>
  Type.Codec(Type.String({ minLength: 1, ...options }))
    .Decode(parseFlowControlValue)
    .Encode(rejectEncoding);

export const RedactFields = (options: TSchemaOptions) =>
  Type.Codec(Type.String({ minLength: 1, ...options }))
    .Decode(parseRedactFields)
    .Encode(rejectEncoding);

export const Destination = (options: TSchemaOptions) =>
  Type.Codec(Type.String({ minLength: 1, format: 'uri', ...options }))
    .Decode(parseDestination)
    .Encode(rejectEncoding);

/** URL of a workflow: a destination, or the URL of a workflow that workers serve. */
export const WorkflowUrl = (options: TSchemaOptions) =>
  Type.Codec(Type.String({ minLength: 1, format: 'uri', ...options }))
    .Decode(parseWorkflowUrl)
    .Encode(rejectEncoding);

/** Boolean whose name can be given without a value, which means true. */
export const Flag = (options: TSchemaOptions) =>
  Type.Codec(Type.String({ pattern: '^(true|false)?$', ...options }))
    .Decode((text): boolean => {
      if (text !== '' && text !== 'true' && text !== 'false')
        throw new InvalidValueError(`must be true or false, not ${quoteValue(text)}`);
      return text !== 'false';
    })
    .Encode(rejectEncoding);

/** String that is not converted. */
export const Text = (maxLength: number, options: TStringOptions) => Type.String({ minLength: 1, maxLength, ...options });

/** Id that the client chooses. It must be usable in URL paths. */
export const ClientSuppliedId = (maxLength: number, options: TStringOptions) =>
  Type.Codec(Text(maxLength, { pattern: '^(?!\\.{1,2}$)', ...options }))
    .Decode((text) => {
      if (text.length < 1 || text.length > maxLength)
        throw new InvalidValueError(
          `must be a string of 1 to ${maxLength} characters, not ${quoteValue(text)} (${text.length} characters)`,
        );
      if (!isPathSafe(text)) throw new InvalidValueError(PATH_SAFE_REQUIREMENT);
      return text;
    })
    .Encode(rejectEncoding);

/**
 * String from a URL path, which Everstep stores. U+0000 is rejected, because some stores cannot store it. (Headers cannot
 * contain U+0000, and a lookup with it finds nothing.)
 */
export const StoredText = (maxLength: number, options: TStringOptions) =>
  Type.Codec(Text(maxLength, { pattern: '^[^\\u0000]*$', ...options }))
    .Decode((text) => {
      if (text.length < 1 || text.length > maxLength)
        throw new InvalidValueError(
          `must be a string of 1 to ${maxLength} characters, not ${quoteValue(text)} (${text.length} characters)`,
        );
      if (text.includes('\u0000')) throw new InvalidValueError(`must not contain the character U+0000: ${quoteValue(text)}`);
      if (!isPathSafe(text)) throw new InvalidValueError(PATH_SAFE_REQUIREMENT);
      return text;
    })
    .Encode(rejectEncoding);

/**
 * Cursor of a listing. The operation decodes it, because a cursor is valid only for one operation. An empty cursor starts at the
 * beginning.
 */
export const Cursor = (description: string) => Type.String({ description });
