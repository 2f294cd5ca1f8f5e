/** `body`, `header`, `header[<name>]`, `body[<field>]`, `<field>`, with commas between: what must not be shown. */
import { LIMITS } from '../../config/limits.js';
import type { Redaction } from '../../engine/run.js';
import { shown, Unacceptable } from './unacceptable.js';

const HEADER_NAME = /^header\[([!#$%&'*+.^_`|~0-9A-Za-z-]+)\]$/;
const BODY_FIELD = /^body\[([^[\],]+)\]$/;
const BARE_FIELD = /^[^[\],\s]+$/;
/** Would be taken for fields, though they were most likely meant for something else. */
const MISSPELT: Readonly<Record<string, string>> = { headers: 'header', bodies: 'body', Body: 'body', Header: 'header' };

/** Throws Unacceptable. */
export function parseRedactFields(text: string): Redaction {
  const parts = text.split(',').map((part) => part.trim());
  if (parts.length > LIMITS.maxRedactedFields) {
    throw new Unacceptable(`must not name more than ${LIMITS.maxRedactedFields} fields, and this has ${parts.length}`);
  }
  let [body, allHeaders] = [false, false];
  const headers = new Set<string>();
  const fields = new Set<string>();
  for (const part of parts) {
    const header = HEADER_NAME.exec(part)?.[1];
    const field = BODY_FIELD.exec(part)?.[1];
    const meant = Object.hasOwn(MISSPELT, part) ? MISSPELT[part] : undefined;
    if (meant !== undefined) {
      throw new Unacceptable(`must not have ${shown(part)}: write ${meant}, or body[${part}] for a field of that name`);
    }
    if (part === 'body') body = true;
    else if (part === 'header') allHeaders = true;
    else if (header !== undefined) headers.add(header.toLowerCase());
    else if (field !== undefined) fields.add(field.trim());
    else if (BARE_FIELD.test(part)) fields.add(part);
    else {
      throw new Unacceptable(
        `must be body, header, header[<name>], body[<field>] or names of fields, with commas between; ${shown(part)} is none of them`,
      );
    }
  }
  return { body, headers: allHeaders ? true : [...headers], fields: [...fields] };
}
