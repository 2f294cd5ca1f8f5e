/**
 * The kinds of values that parameters and headers have. Each is a TypeBox
 * schema: validated by it, documented by it, typed by it; where the text
 * stands for something else (a duration for milliseconds), a codec on the
 * schema reads it.
 */
import Type, { type TSchemaOptions, type TStringOptions } from 'typebox';
import { LIMITS } from '../../config/limits.js';
import { fitsInPaths, NOT_IN_PATHS } from '../../dialects/ids-in-paths.js';
import { parseRetryDelay } from '../../engine/retry-delay.js';
import { parseDestination } from './destination.js';
import { DURATION_WORDS, formatDuration, parseDuration } from './duration.js';
import { parseFlowControlValue } from './flow-control-value.js';
import { parseRedactFields } from './redact-fields.js';
import { shown, Unacceptable } from './unacceptable.js';

/** Values are read and never written back: answers are made from what was read. */
function notWritten(): never {
  throw new Error('parameters are only read');
}

/** Unix ms, inclusive where it bounds a range. */
export const UnixMs = (description: string) => Type.Integer({ minimum: 0, format: 'int64', description });

export const Duration = (bounds: { readonly leastMs: number; readonly mostMs: number }, options: TSchemaOptions) =>
  Type.Codec(Type.String({ minLength: 1, pattern: '^(\\d+|(\\d+[smhd])+)$', ...options }))
    .Decode((text) => readDuration(text, bounds))
    .Encode(notWritten);

export function readDuration(text: string, { leastMs, mostMs }: { readonly leastMs: number; readonly mostMs: number }): number {
  const ms = parseDuration(text);
  if (ms === null) throw new Unacceptable(`must be ${DURATION_WORDS}, not ${shown(text)}`);
  if (ms >= leastMs && ms <= mostMs) return ms;
  throw new Unacceptable(`must be from ${formatDuration(leastMs)} to ${formatDuration(mostMs)}, not ${shown(text)}`);
}

/** `true` waits for the default time, `false` not at all (null); a duration for as long. */
export const ResultWait = (options: TSchemaOptions) =>
  Type.Codec(Type.String({ minLength: 1, pattern: '^(true|false|\\d+|(\\d+[smhd])+)$', ...options }))
    .Decode((text): number | null => {
      if (text === 'false') return null;
      if (text === 'true') return LIMITS.defaultResultWaitMs;
      return readDuration(text, { leastMs: 0, mostMs: LIMITS.maxResultWaitMs });
    })
    .Encode(notWritten);

/** A label, or several with commas between. A label counts once. */
export const Labels = (options: TSchemaOptions) =>
  Type.Codec(Type.String({ minLength: 1, ...options }))
    .Decode((text): readonly string[] => {
      const labels = [...new Set(text.split(',').map((label) => label.trim()))];
      if (labels.includes(''))
        throw new Unacceptable(`must be labels with commas between, none of them empty, not ${shown(text)}`);
      if (labels.length > LIMITS.maxLabels)
        throw new Unacceptable(`must not have more than ${LIMITS.maxLabels} labels, and this has ${labels.length}`);
      const long = labels.find((label) => label.length > LIMITS.maxLabelLength);
      if (long !== undefined)
        throw new Unacceptable(`must not have a label of more than ${LIMITS.maxLabelLength} characters, such as ${shown(long)}`);
      return labels;
    })
    .Encode(notWritten);

/** The expression as it was given, once it has been parsed. */
export const RetryDelay = (options: TSchemaOptions) =>
  Type.Codec(Type.String({ minLength: 1, maxLength: LIMITS.maxRetryExpressionLength, ...options }))
    .Decode((text) => {
      const parsed = parseRetryDelay(text);
      if (!parsed.ok) throw new Unacceptable(`is no usable expression: ${parsed.message} (in ${shown(text)})`, 'bad-expression');
      return text;
    })
    .Encode(notWritten);

export const FlowControlValue = (options: TSchemaOptions) =>
  Type.Codec(Type.String({ minLength: 1, ...options }))
    .Decode(parseFlowControlValue)
    .Encode(notWritten);

export const RedactFields = (options: TSchemaOptions) =>
  Type.Codec(Type.String({ minLength: 1, ...options }))
    .Decode(parseRedactFields)
    .Encode(notWritten);

export const Destination = (options: TSchemaOptions) =>
  Type.Codec(Type.String({ minLength: 1, format: 'uri', ...options }))
    .Decode(parseDestination)
    .Encode(notWritten);

/** A text that is kept as it was given. */
export const Text = (maxLength: number, options: TStringOptions) => Type.String({ minLength: 1, maxLength, ...options });

/** An id that a client chooses, by which things are found again: it stands in paths later. */
export const ChosenId = (maxLength: number, options: TStringOptions) =>
  Type.Codec(Text(maxLength, { pattern: '^(?!\\.{1,2}$)', ...options }))
    .Decode((text) => {
      if (text.length < 1 || text.length > maxLength)
        throw new Unacceptable(`must be a text of 1 to ${maxLength} characters, not ${shown(text)} (${text.length} characters)`);
      if (!fitsInPaths(text)) throw new Unacceptable(NOT_IN_PATHS);
      return text;
    })
    .Encode(notWritten);

/**
 * A text in a path that is kept: without U+0000, which not every store can keep. (A header cannot have one, and what is
 * only looked up is not found.)
 */
export const KeptText = (maxLength: number, options: TStringOptions) =>
  Type.Codec(Text(maxLength, { pattern: '^[^\\u0000]*$', ...options }))
    .Decode((text) => {
      if (text.length < 1 || text.length > maxLength)
        throw new Unacceptable(`must be a text of 1 to ${maxLength} characters, not ${shown(text)} (${text.length} characters)`);
      if (text.includes('\u0000')) throw new Unacceptable(`must not have the character U+0000, as ${shown(text)} does`);
      if (!fitsInPaths(text)) throw new Unacceptable(NOT_IN_PATHS);
      return text;
    })
    .Encode(notWritten);

/** Where a listing goes on. Read by the operation, which knows what it is bound to; empty is the same as absent. */
export const Cursor = (description: string) => Type.String({ description });
