/** Parses the URLs of destinations that Everstep calls. */
import { parseWorkerUrl, WORKER_SCHEME } from '@everstep/sdk/protocol';
import { LIMITS } from '../../config/limits.js';
import { InvalidValueError, quoteValue } from './value-errors.js';

/** Scheme and slashes of a URL. Proxies can remove one of the two slashes of a raw URL in a path. */
const SCHEME_AND_SLASHES = /^(https?):\/{1,2}(?=[^/])/i;
const WORKER_SLASHES = /^worker:\/{1,2}(?=[^/])/;
// biome-ignore lint/suspicious/noControlCharactersInRegex: the expression must match control characters
const UNPRINTABLE = /[\s\u0000-\u001f\u007f]/;

/**
 * Returns the URL of a workflow: a destination, or the URL of a workflow that workers serve. Throws InvalidValueError with the
 * code `bad-url`.
 */
export function parseWorkflowUrl(text: string): string {
  const url = text.replace(WORKER_SLASHES, WORKER_SCHEME);
  if (!url.startsWith(WORKER_SCHEME)) return parseDestination(text);
  if (parseWorkerUrl(url) === null)
    throw new InvalidValueError(
      `must have the form worker://<app>/<workflow>, where the app consists of at most 63 lowercase letters, digits, "-", "_" and ".", not ${quoteValue(text)}`,
      'bad-url',
    );
  return url;
}

/**
 * Returns the URL without its fragment, and with two slashes after the scheme. Throws InvalidValueError with the code
 * `bad-url`.
 */
export function parseDestination(text: string): string {
  const url = text.replace(/#.*$/s, '').replace(SCHEME_AND_SLASHES, '$1://');
  const refusal = (message: string) => new InvalidValueError(`${message}, not ${quoteValue(text)}`, 'bad-url');
  if (!/^https?:\/\//i.test(url)) throw refusal('must be an absolute http or https URL');
  if (UNPRINTABLE.test(url)) throw refusal('must not contain whitespace or control characters; percent-encode them');
  // Stores replace unpaired surrogates, so the destination could no longer be found.
  if (/\p{Surrogate}/u.test(url)) throw refusal('must not contain an unpaired surrogate');
  if (url.length > LIMITS.maxWorkflowUrlLength) {
    throw new InvalidValueError(
      `must not be longer than ${LIMITS.maxWorkflowUrlLength} characters; this one has ${url.length}`,
      'bad-url',
    );
  }
  if (!URL.canParse(url)) throw refusal('must be a valid absolute http or https URL');
  const { username, password } = new URL(url);
  if (username !== '' || password !== '') {
    throw new InvalidValueError('must not contain a user name or password; send credentials in a forwarded header', 'bad-url');
  }
  return url;
}
