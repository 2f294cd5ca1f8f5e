import { type Client, type PayloadCipher, serve } from '@everstep/sdk';

interface Patient {
  readonly name: string;
  readonly insurance: string;
}

/** Everstep stores only encrypted values: the payload, the result of the step, the event and the result of the run. */
export const admissionWith = (encryption: PayloadCipher) =>
  serve<Patient, { bed: string; doctor: string }>(
    async (context) => {
      const { name, insurance } = context.payload;
      const bed = await context.run('assign bed', () => `${insurance} ward, bed of ${name}`);
      const { eventData } = await context.waitForEvent<{ doctor: string }>('doctor', `admission/${context.runId}`);
      return { bed, doctor: eventData?.doctor ?? 'on duty' };
    },
    { encryption },
  );

/** The client must have the same keys. It encrypts the payload. Ids, labels and headers are not encrypted. */
export const admit = (client: Client, workflowUrl: string, patient: Patient) => client.trigger(workflowUrl, { body: patient });

/** The data of the event is encrypted too. */
export const assignDoctor = (client: Client, runId: string, doctor: string) =>
  client.notify({ eventId: `admission/${runId}`, eventData: { doctor } });
