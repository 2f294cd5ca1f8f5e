/**
 * Reads the error that an endpoint reports. The error only explains a failure, so its invalid parts are omitted instead of
 * rejected.
 */
import {
  ERROR_BOUNDS,
  type ErrorCause,
  type ErrorFrame,
  type ErrorSource,
  parseJson,
  truncateText,
} from '@everstep/sdk/protocol';
import { LIMITS } from '../config/limits.js';

type Fields = Readonly<Record<string, unknown>>;

const isFields = (value: unknown): value is Fields => typeof value === 'object' && value !== null && !Array.isArray(value);
const isPosition = (value: unknown): value is number => typeof value === 'number' && Number.isSafeInteger(value) && value > 0;

/** Returns an object with the start of a text under the name; empty if there is no text. */
const truncatedField = <Name extends string>(
  name: Name,
  value: unknown,
  maxLength: number,
): { readonly [Key in Name]?: string } =>
  typeof value === 'string' && value !== '' ? ({ [name]: truncateText(value, maxLength) } as { [Key in Name]: string }) : {};

function causeOf(value: unknown): readonly ErrorCause[] {
  if (!isFields(value) || typeof value.message !== 'string') return [];
  const name = typeof value.name === 'string' && value.name !== '' ? value.name : 'Error';
  return [
    {
      name: truncateText(name, ERROR_BOUNDS.nameLength),
      message: truncateText(value.message, ERROR_BOUNDS.causeMessageLength),
      ...truncatedField('code', value.code, ERROR_BOUNDS.codeLength),
      ...truncatedField('stack', value.stack, ERROR_BOUNDS.causeStackLength),
    },
  ];
}

function sourceOf(value: unknown): ErrorSource | undefined {
  if (!isFields(value) || typeof value.file !== 'string' || value.file === '' || !isPosition(value.line)) return undefined;
  return {
    // The end of a path can also start with half of a surrogate pair.
    file: value.file.slice(-ERROR_BOUNDS.fileLength).replace(/^[\uDC00-\uDFFF]/, ''),
    line: value.line,
    ...(isPosition(value.column) ? { column: value.column } : {}),
    ...truncatedField('function', value.function, ERROR_BOUNDS.functionLength),
    ...truncatedField('code', value.code, ERROR_BOUNDS.sourceLineLength),
  };
}

/** Reads an error with this name and message. All its parts are truncated. */
export function readError(name: string, message: string, { stack, code, causes, source }: Fields): ErrorFrame {
  const parsedCauses = Array.isArray(causes) ? causes.slice(0, ERROR_BOUNDS.causes).flatMap(causeOf) : [];
  const parsedSource = sourceOf(source);
  return {
    name: truncateText(name, ERROR_BOUNDS.nameLength),
    message: truncateText(message, LIMITS.maxKeptErrorLength),
    // A published SDK repeats the message before the frames.
    ...truncatedField('stack', stack, ERROR_BOUNDS.stackLength + message.length + ERROR_BOUNDS.nameLength),
    ...truncatedField('code', code, ERROR_BOUNDS.codeLength),
    ...(parsedCauses.length === 0 ? {} : { causes: parsedCauses }),
    ...(parsedSource ? { source: parsedSource } : {}),
  };
}

/** Reads the error in a response of an endpoint with any SDK. Returns null if there is none. */
export function errorIn(body: Uint8Array): ErrorFrame | null {
  if (body.byteLength === 0 || body[0] !== '{'.charCodeAt(0)) return null;
  try {
    const value: unknown = parseJson(Buffer.from(body.buffer, body.byteOffset, body.byteLength).toString('utf8'));
    if (!isFields(value)) return null;
    const error = isFields(value.error) ? value.error : value;
    if (typeof error.message !== 'string') return null;
    // The published SDK reports the name as `error`.
    const name = [error.name, error.error].find(
      (candidate): candidate is string => typeof candidate === 'string' && candidate !== '',
    );
    return readError(name ?? 'Error', error.message, error);
  } catch {
    return null;
  }
}
