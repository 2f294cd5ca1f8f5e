/**
 * Text formats in request bodies: a pattern for schemas and a message for errors. Patterns are Unicode expressions, in which
 * surrogates match only if they are unpaired. Stores cannot keep these: they replace them, so that different ids become equal.
 */
import { WORKER_APP } from '@everstep/sdk/protocol';
import { MAIL_ADDRESS } from '../config/mail/mail-address.js';

const PATTERNS = {
  /** At least one visible character and no character that could disrupt a terminal. */
  visible: {
    pattern: '^(?=[\\s\\S]*\\S)[^\\u0000-\\u001f\\u007f-\\u009f\\ud800-\\udfff]*$',
    requirement: 'must contain a character other than whitespace, and no control characters or unpaired surrogates',
  },
  /** At least one visible character; lines and tabs are allowed. */
  note: {
    pattern: '^(?=[\\s\\S]*\\S)[^\\u0000-\\u0008\\u000b-\\u001f\\u007f-\\u009f\\ud800-\\udfff]*$',
    requirement:
      'must contain a character other than whitespace, no control characters except line breaks and tabs, and no unpaired surrogates',
  },
  withoutControls: {
    pattern: '^[^\\u0000-\\u001f\\u007f-\\u009f\\ud800-\\udfff]*$',
    requirement: 'must not contain control characters or unpaired surrogates',
  },
  /** Any text that every store can keep unchanged. */
  storable: {
    pattern: '^[^\\u0000\\ud800-\\udfff]*$',
    requirement: 'must not contain the character U+0000 or an unpaired surrogate',
  },
  /** Without a colon, because HTTP Basic ends the user name at the first colon. */
  email: {
    pattern: '^[^\\s@:\\u0000-\\u001f\\ud800-\\udfff]+@[^\\s@:\\u0000-\\u001f\\ud800-\\udfff]+$',
    requirement: 'must be an email address such as ada@example.com, without whitespace and colons',
  },
  /** An email address without the quotes and comments that RFC 5322 allows. */
  mailAddress: {
    pattern: MAIL_ADDRESS,
    requirement: "must be an email address such as ops@example.com: letters, digits and . _ + ' = & ~ - before the @",
  },
  ascii: { pattern: '^[\\x20-\\x7e]+$', requirement: 'must contain only printable ASCII characters' },
  label: {
    pattern: '^[^,\\u0000\\ud800-\\udfff]*$',
    requirement: 'must not contain a comma, the character U+0000 or an unpaired surrogate',
  },
  /** Id that appears in URL paths. */
  id: {
    pattern: '^(?!\\.{1,2}$)[^\\u0000\\ud800-\\udfff]*$',
    requirement:
      'must not be "." or "..", which URLs cannot represent, and must not contain the character U+0000 or an unpaired surrogate',
  },
  connectScope: {
    pattern: `^connect:${WORKER_APP.source.slice(1)}`,
    requirement:
      'must be trigger, notify, read-metadata, read, write, connect, or connect: and the name of an app, such as connect:shop',
  },
  /** Name that appears in URL paths and on command lines. */
  name: {
    pattern: '^[A-Za-z0-9_-][A-Za-z0-9_.-]*$',
    requirement: 'must contain only letters, digits, "-", "_" and ".", and must not start with "."',
  },
  timeOfDay: { pattern: '^([01][0-9]|2[0-3]):[0-5][0-9]$', requirement: 'must be a time such as 22:00' },
  fingerprint: { pattern: '^[0-9a-f]{16}$', requirement: 'must be the fingerprint of a group: 16 hexadecimal digits' },
} as const;

export type PatternName = keyof typeof PATTERNS;

/** Returns the schema options of a text format. */
export const patternOption = (name: PatternName): { readonly pattern: string } => ({ pattern: PATTERNS[name].pattern });

const REQUIREMENTS: ReadonlyMap<string, string> = new Map(
  Object.values(PATTERNS).map(({ pattern, requirement }) => [pattern, requirement]),
);

/** Returns the error message of a pattern, or null when the pattern is not one of these formats. */
export const patternRequirement = (pattern: string): string | null => REQUIREMENTS.get(pattern) ?? null;
