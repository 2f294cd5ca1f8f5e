/** What is wrong with what an endpoint submits, told so that the SDK there understands it. */
import { ApiError } from '../../../contract/error-codes.js';
import { Problem } from '../../frame-fields.js';
import { HEADERS, otherVersion, PREFIX, STEP_PROTOCOL_VERSION } from '../wire.js';

const PROTOCOL_HEADER = (PREFIX + HEADERS.protocol).toLowerCase();

/**
 * The SDK takes 412 for an error that no retry helps, and fails the run with these words; 400 it takes for the end of
 * the run and keeps silent.
 */
export const refused = (message: string): ApiError => new ApiError('steps-refused', message);

export const runOver = (): ApiError =>
  new ApiError('run-over', 'the run that this is submitted for is not active: it has ended, or there never was one');

/** Any mistake in what was submitted, as one that no retry helps. Runs `read`. */
export function refusing<Value>(read: () => Value): Value {
  try {
    return read();
  } catch (error) {
    if (error instanceof Problem) throw refused(`the submitted step cannot be taken: ${error.message}`);
    if (error instanceof ApiError && error.status < 500 && error.code !== 'run-over') throw refused(error.message);
    throw error;
  }
}

type Headers = Readonly<Record<string, string | readonly string[] | undefined>>;

/** Throws ApiError `steps-refused` unless the submission is of the version of the protocol that there is. */
export function checkVersion(headers: Headers): void {
  const version = headers[PROTOCOL_HEADER];
  if (version === STEP_PROTOCOL_VERSION) return;
  if (typeof version === 'string') throw refused(otherVersion('the endpoint', version));
  throw refused(
    `the endpoint submitted a step without the header ${PREFIX}${HEADERS.protocol}, so its SDK is too old for this service, which speaks version ${STEP_PROTOCOL_VERSION} of the step protocol: upgrade @upstash/workflow there to 1.x`,
  );
}

/** The same for whoever starts runs; one that names no version speaks none. */
export function checkClientVersion(headers: Headers): void {
  const version = headers[PROTOCOL_HEADER];
  if (typeof version === 'string' && version !== STEP_PROTOCOL_VERSION)
    throw new ApiError('bad-header', otherVersion('the client', version));
}
