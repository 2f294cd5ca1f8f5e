/** Errors for invalid submissions of an endpoint, in a form that its SDK handles. */
import { ApiError } from '../../../contract/error-codes.js';
import { InvalidFieldError } from '../../../dialects/frame-fields.js';
import { HEADERS, PREFIX, STEP_PROTOCOL_VERSION, versionMismatch } from '../../../dialects/upstash/wire.js';

const PROTOCOL_HEADER = (PREFIX + HEADERS.protocol).toLowerCase();

/**
 * Error that fails the run. The SDK treats 412 as an error that is not retryable and fails the run with this message. It
 * treats 400 as the end of the run and reports nothing.
 */
export const stepsRefusedError = (message: string): ApiError => new ApiError('steps-refused', message);

export const runOverError = (): ApiError => new ApiError('run-over', 'the run is not active: it has ended, or it never existed');

/** Converts a validation error to one that is not retryable. Returns any other error. */
export function stepRefusalOf(error: unknown): unknown {
  if (error instanceof InvalidFieldError) return stepsRefusedError(`the submitted step is invalid: ${error.message}`);
  if (error instanceof ApiError && error.status < 500 && error.code !== 'run-over') return stepsRefusedError(error.message);
  return error;
}

/** Runs `read` and converts any validation error to one that is not retryable. */
export function withStepRefusals<Value>(read: () => Value): Value {
  try {
    return read();
  } catch (error) {
    throw stepRefusalOf(error);
  }
}

type Headers = Readonly<Record<string, string | readonly string[] | undefined>>;

/** Throws ApiError `steps-refused` unless the submission uses the supported version of the step protocol. */
export function checkVersion(headers: Headers): void {
  const version = headers[PROTOCOL_HEADER];
  if (version === STEP_PROTOCOL_VERSION) return;
  if (typeof version === 'string') throw stepsRefusedError(versionMismatch('the endpoint', version));
  throw stepsRefusedError(
    `the endpoint submitted a step without the header ${PREFIX}${HEADERS.protocol}, so its SDK is too old for Everstep, which uses version ${STEP_PROTOCOL_VERSION} of the step protocol: upgrade @upstash/workflow there to 1.x`,
  );
}

/** Checks the version for clients that start runs. A client may omit it. */
export function checkClientVersion(headers: Headers): void {
  const version = headers[PROTOCOL_HEADER];
  if (typeof version === 'string' && version !== STEP_PROTOCOL_VERSION)
    throw new ApiError('bad-header', versionMismatch('the client', version));
}
