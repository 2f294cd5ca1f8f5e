/**
 * Parses a list of fields to redact: `body`, `header`, `header[<name>]`, `body[<field>]` and `<field>`, separated by
 * commas.
 */
import { LIMITS } from '../../config/limits.js';
import type { Redaction } from '../../engine/runs/run.js';
import { InvalidValueError, quoteValue } from './value-errors.js';

const HEADER_NAME = /^header\[([!#$%&'*+.^_`|~0-9A-Za-z-]+)\]$/;
const BODY_FIELD = /^body\[([^[\],]+)\]$/;
const BARE_FIELD = /^[^[\],\s]+$/;
/** Corrections of likely mistakes, which would otherwise be read as field names. */
const CORRECTIONS: Readonly<Record<string, string>> = { headers: 'header', bodies: 'body', Body: 'body', Header: 'header' };

/** Parses the list. Throws InvalidValueError if it is invalid. */
export function parseRedactFields(text: string): Redaction {
  const parts = text.split(',').map((part) => part.trim());
  if (parts.length > LIMITS.maxRedactedFields) {
    throw new InvalidValueError(`must not contain more than ${LIMITS.maxRedactedFields} fields; ${parts.length} are given`);
  }
  let [body, allHeaders] = [false, false];
  const headers = new Set<string>();
  const fields = new Set<string>();
  for (const part of parts) {
    const header = HEADER_NAME.exec(part)?.[1];
    const field = BODY_FIELD.exec(part)?.[1];
    const correction = Object.hasOwn(CORRECTIONS, part) ? CORRECTIONS[part] : undefined;
    if (correction !== undefined) {
      throw new InvalidValueError(
        `must not contain ${quoteValue(part)}; use ${correction}, or body[${part}] for a field with that name`,
      );
    }
    if (part === 'body') body = true;
    else if (part === 'header') allHeaders = true;
    else if (header !== undefined) headers.add(header.toLowerCase());
    else if (field !== undefined) fields.add(field.trim());
    else if (BARE_FIELD.test(part)) fields.add(part);
    else {
      throw new InvalidValueError(
        `must be a comma-separated list of body, header, header[<name>], body[<field>] and field names; ${quoteValue(part)} is none of these`,
      );
    }
  }
  return { body, headers: allHeaders ? true : [...headers], fields: [...fields] };
}
