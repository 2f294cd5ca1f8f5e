/**
 * Extracts audit details from the input and the response of a request: names, filters and counts, but no payloads or
 * secrets.
 */
import { truncateText } from '@everstep/sdk/protocol';
import type { AuditNote } from '../../engine/writes.js';
import type { OperationInput } from '../handled-request.js';
import type { ChangeRule } from './audit-rule.js';

type Details = AuditNote['details'];
type Fields = Readonly<Record<string, unknown>>;

const MAX_FIELDS = 20;
const MAX_TEXT_LENGTH = 200;

const isObject = (value: unknown): value is Fields =>
  typeof value === 'object' && value !== null && !Array.isArray(value) && !Buffer.isBuffer(value);

const fieldsOf = (value: unknown): readonly (readonly [string, unknown])[] =>
  isObject(value) ? Object.entries(value).filter(([, field]) => field !== undefined) : [];

/** Removes the query or fragment of a URL, because it often contains secrets, and truncates the text. */
const sanitizeText = (text: string): string => truncateText(text.replace(/[?#].*$/s, ''), MAX_TEXT_LENGTH);

/** Returns the value of the first parameter or field with this name that is a string; empty when there is none. */
export function subjectIn(input: Partial<Pick<OperationInput, 'path' | 'query' | 'body'>>, name: string): string {
  for (const part of [input.path, input.query, input.body]) {
    const value = isObject(part) ? part[name] : undefined;
    if (typeof value === 'string') return sanitizeText(value);
  }
  return '';
}

/**
 * Returns the filters of a bulk action with their values. For a change of one object, returns only the names of the fields
 * in the request.
 */
export function inputDetails({ query, body }: Pick<OperationInput, 'query' | 'body'>, rule: ChangeRule): Details {
  const fields = [...fieldsOf(query), ...fieldsOf(body)];
  if (rule.isBulk) return Object.fromEntries(fields.slice(0, MAX_FIELDS).map(([name, value]) => [name, filterValue(value)]));
  const fieldNames = fields.map(([name]) => name).filter((name) => name !== rule.subject);
  return fieldNames.length === 0 ? {} : { fields: fieldNames.slice(0, MAX_FIELDS).join(',') };
}

function filterValue(value: unknown): string | number | boolean | null {
  if (typeof value === 'number' || typeof value === 'boolean' || value === null) return value;
  if (typeof value === 'string') return sanitizeText(value);
  if (!Array.isArray(value)) return 'given';
  const texts = value.filter((field) => typeof field === 'string').map(sanitizeText);
  const [firstText = ''] = texts;
  return texts.length <= 1 ? firstText : `${value.length} values`;
}

/** Returns the numbers of a response and the lengths of its lists. */
export function responseCounts(body: unknown): Details {
  if (Array.isArray(body)) return { count: body.length };
  const counts = fieldsOf(body).flatMap(([name, value]) => {
    if (typeof value === 'number') return [[name, value] as const];
    return Array.isArray(value) ? [[name, value.length] as const] : [];
  });
  return Object.fromEntries(counts.slice(0, MAX_FIELDS));
}
