/**
 * Numbers and quotations in error messages that identify a cause: statuses, SQLSTATE codes, and identifiers such as
 * `column "email"`. Only their context distinguishes them from values, such as the name of a user.
 */

/** Length of the text before a part that is examined to classify it. */
const CONTEXT_LENGTH = 48;

const HTTP_STATUS = /^[1-5]\d\d$/;
const BEFORE_STATUS =
  /(?:^|[\s("'{,;[])(?:http(?:\/\S{1,5})?|status(?:[ _-]?code)?|code|error|(?:answered|returned|responded|replied|failed|rejected)(?: with(?: an?)?)?)["']?[:=]? ?[([]?$/i;
const AFTER_STATUS =
  /^\s(?:Bad Request|Unauthorized|Payment Required|Forbidden|Not Found|Method Not Allowed|Conflict|Gone|Unprocessable|Too Many Requests|Internal Server Error|Bad Gateway|Service Unavailable|Gateway Timeout)\b/i;

const SQLSTATE = /^(?=[0-9A-Z]*\d)[0-9A-Z]{5}$/;
/** Codes of the SQLSTATE classes. A code that follows only the word `code`, not `SQLSTATE`, must be one of them. */
const SQLSTATE_OF_CLASS = /^(?:0[0-9ABFLPZ]|2[0-9BDF]|3[489BDF]|4[024]|5[34578]|F0|HV|HY|P0|XX)[0-9A-Z]{3}$/;
const BEFORE_SQLSTATE = /sqlstate["']?[:=]? ?[([]?$/i;
const BEFORE_CODE = /(?:^|[\s("'{,;[])(?:error ?|err)?code["']?[:=] ?$/i;

const IDENTIFIER = /^[\p{L}_$][\p{L}\p{N}_$.-]{0,60}$/u;
const BEFORE_IDENTIFIER =
  /(?:^|[\s(])(?:columns?|fields?|propert(?:y|ies)|attributes?|tables?|relations?|constraints?|index|types?|functions?|methods?|parameters?|arguments?|options?|settings?|variables?|modules?|packages?|schema|enum|reading|setting|class|operator|view|sequence|extension|collection|header)\b:? ?\(?$/i;
const AFTER_IDENTIFIER =
  /^\s(?:columns?\b|field\b|property\b|must\b|cannot be (?:null|empty|undefined)\b|does not exist on type\b|is (?:required|read-only|not (?:a function|a constructor|defined|iterable))\b)/i;

const contextOf = (before: string): string => before.slice(-CONTEXT_LENGTH);

/** Returns whether a number or code identifies a cause. `before` and `after` are the text around it. */
export function isCode(word: string, before: string, after: string): boolean {
  if (word.length === 3) return HTTP_STATUS.test(word) && (BEFORE_STATUS.test(contextOf(before)) || AFTER_STATUS.test(after));
  if (word.length !== 5 || !SQLSTATE.test(word)) return false;
  const context = contextOf(before);
  return BEFORE_SQLSTATE.test(context) || (SQLSTATE_OF_CLASS.test(word) && BEFORE_CODE.test(context));
}

/** Returns whether a quotation is the name of something in code or in a database. */
export function isIdentifier(quotedText: string, before: string, after: string): boolean {
  return IDENTIFIER.test(quotedText) && (AFTER_IDENTIFIER.test(after) || BEFORE_IDENTIFIER.test(contextOf(before)));
}
