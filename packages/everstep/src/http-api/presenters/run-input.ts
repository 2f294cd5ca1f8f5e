/** Presents the input of a run. */
import type { RunInput } from '../../contract/runs.js';
import type { Redaction, RunPayload } from '../../engine/runs/run.js';
import { presentBytes, sentHeaders } from './dead-letter.js';
import { redactBody } from './redaction.js';

export const presentInput = (payload: RunPayload, redact: Redaction | undefined): RunInput => ({
  header: sentHeaders(payload, redact),
  ...presentBytes('body', 'bodyBase64', redactBody(payload.body, redact)),
});
