import { NonRetryableError, serve } from '@everstep/sdk';

interface Transcript {
  readonly words: number;
}

/** Transcribes a recording. Everstep waits for the response, for up to two hours per attempt. */
export const transcribe = serve<{ recording: string; apiUrl: string }, number>(async (context) => {
  const { recording, apiUrl } = context.payload;
  const response = await context.call<Transcript>('transcribe', {
    url: apiUrl,
    method: 'POST',
    headers: { 'Idempotency-Key': context.runId },
    body: { recording },
    timeout: '2h',
    retries: 5,
    retryDelay: '1000 * pow(2, retried)',
    flowControl: { key: 'transcriptions', parallelism: 3 },
  });
  if (!response.ok) throw new NonRetryableError(`no transcript: ${response.error ?? `status ${response.status}`}`);
  return response.body.words;
});
