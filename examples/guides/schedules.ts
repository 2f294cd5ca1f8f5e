import { type Client, serve } from '@everstep/sdk';

export const dailyReport = serve<{ department: string }, string>(async (context) => {
  const { department } = context.payload;
  return context.run('report', () => `report of ${department}`);
});

/** Starts a run every weekday at 9 am in Berlin. A second call with the same id replaces the schedule. */
export function reportDaily(client: Client, workflowUrl: string, department: string) {
  return client.schedules.create(workflowUrl, {
    scheduleId: `report-${department}`,
    cron: '0 9 * * 1-5',
    timezone: 'Europe/Berlin',
    body: { department },
    retries: 5,
  });
}

/** Pauses the schedule until you resume it. */
export async function pauseReport(client: Client, department: string): Promise<void> {
  await client.schedules.pause(`report-${department}`);
}
