/** URLs that the service is to call. */
import { LIMITS } from '../../config/limits.js';
import { shown, Unacceptable } from './unacceptable.js';

/** Written raw in a path, a proxy may have made one slash of two. */
const SCHEME_AND_SLASHES = /^(https?):\/{1,2}(?=[^/])/i;
// biome-ignore lint/suspicious/noControlCharactersInRegex: control characters are what this looks for
const UNPRINTABLE = /[\s\u0000-\u001f\u007f]/;

/** The URL as it was given, without a fragment. Throws Unacceptable with the code `bad-url`. */
export function parseDestination(text: string): string {
  const url = text.replace(/#.*$/s, '').replace(SCHEME_AND_SLASHES, '$1://');
  const refuse = (message: string) => new Unacceptable(`${message}, not ${shown(text)}`, 'bad-url');
  if (!/^https?:\/\//i.test(url)) throw refuse('must be an absolute http or https URL');
  if (UNPRINTABLE.test(url)) throw refuse('must not contain blanks or control characters; percent-encode them');
  if (url.length > LIMITS.maxWorkflowUrlLength) {
    throw new Unacceptable(
      `must not be longer than ${LIMITS.maxWorkflowUrlLength} characters, and this has ${url.length}`,
      'bad-url',
    );
  }
  if (!URL.canParse(url)) throw refuse('must be an absolute http or https URL that can be read');
  const { username, password } = new URL(url);
  if (username !== '' || password !== '') {
    throw new Unacceptable('must not carry a user name or password; send credentials in a forwarded header', 'bad-url');
  }
  return url;
}
