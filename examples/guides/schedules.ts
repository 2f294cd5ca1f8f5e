import { type Client, serve } from '@everstep/sdk';

export const dailyReport = serve<{ department: string }, string>(async (context) => {
  const { department } = context.payload;
  return context.run('report', () => `report of ${department}`);
});

/** Each working day at nine in Berlin, in summer and in winter. The same id again replaces the schedule. */
export function reportDaily(client: Client, workflowUrl: string, department: string) {
  return client.schedules.create(workflowUrl, {
    scheduleId: `report-${department}`,
    cron: '0 9 * * 1-5',
    timezone: 'Europe/Berlin',
    body: { department },
    retries: 5,
  });
}

export async function stopForTheHolidays(client: Client, department: string): Promise<void> {
  await client.schedules.pause(`report-${department}`);
}
