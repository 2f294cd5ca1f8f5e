import { type Client, serve } from '@everstep/sdk';

interface Patient {
  readonly name: string;
  readonly insurance: string;
}

/** The workflow receives all values. Logs, listings and dead letters show `[REDACTED]`. */
export const admission = serve<Patient, { ward: string; name: string }>(async (context) => {
  const { name, insurance } = context.payload;
  return context.run('admit', () => ({ ward: insurance.startsWith('P') ? 'north' : 'south', name }));
});

export function admit(client: Client, workflowUrl: string, patient: Patient) {
  return client.trigger(workflowUrl, {
    body: patient,
    headers: { 'X-Session': 'f3a9' },
    redact: ['name', 'insurance', 'header[x-session]'],
  });
}
