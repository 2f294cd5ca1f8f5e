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
  const entries = text.split(',').map((entry) => entry.trim());
  if (entries.length > LIMITS.maxRedactedFields) {
    throw new InvalidValueError(`must contain at most ${LIMITS.maxRedactedFields} fields, but contains ${entries.length}`);
  }
  let [hidesBody, hidesAllHeaders] = [false, false];
  const headers = new Set<string>();
  const fields = new Set<string>();
  for (const entry of entries) {
    const header = HEADER_NAME.exec(entry)?.[1];
    const field = BODY_FIELD.exec(entry)?.[1];
    const correction = Object.hasOwn(CORRECTIONS, entry) ? CORRECTIONS[entry] : undefined;
    if (correction !== undefined) {
      throw new InvalidValueError(
        `must not contain ${quoteValue(entry)}; use ${correction}, or body[${entry}] for a field with that name`,
      );
    }
    if (entry === 'body') hidesBody = true;
    else if (entry === 'header') hidesAllHeaders = true;
    else if (header !== undefined) headers.add(header.toLowerCase());
    else if (field !== undefined) fields.add(field.trim());
    else if (BARE_FIELD.test(entry)) fields.add(entry);
    else {
      throw new InvalidValueError(
        `must be a comma-separated list of body, header, header[<name>], body[<field>] and field names; ${quoteValue(entry)} is none of these`,
      );
    }
  }
  return { body: hidesBody, headers: hidesAllHeaders ? true : [...headers], fields: [...fields] };
}
