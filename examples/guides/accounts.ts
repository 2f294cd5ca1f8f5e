import type { AdminClient, QueueInstance } from '@everstep/sdk';

/** A queue instance of one's own, to try things out. Its tokens are in the answer. */
export function tryOut(admin: AdminClient): Promise<QueueInstance> {
  return admin.queues.create({ name: 'trial', region: 'eu-central-1' });
}

/** A team with a developer and an accountant, who are invited. Pass each of them the `invitation_secret`. */
export async function foundTeam(admin: AdminClient, developer: string, accountant: string) {
  const team = await admin.teams.create('Shop');
  const invited = [
    await admin.teams.members.put(team.id, developer, 'dev'),
    await admin.teams.members.put(team.id, accountant, 'finance'),
  ];
  return { teamId: team.id, invited };
}

/** It goes into production: the team owns it and pays for it. Whoever has its token notices nothing. */
export async function handOver(admin: AdminClient, queueId: string, teamId: string): Promise<void> {
  await admin.queues.moveToTeam(queueId, teamId);
}

/** At most 50 dollars a month, and somebody is told when 40 are spent, and when all are. */
export async function limitCosts(admin: AdminClient, queueId: string, alertUrl: string): Promise<void> {
  await admin.queues.updateBudget(queueId, 50);
  await admin.queues.setBudgetAlert(queueId, alertUrl);
}

/** Who changed what in an instance, newest first. */
export async function historyOf(admin: AdminClient, queueId: string): Promise<readonly string[]> {
  const lines: string[] = [];
  for await (const { actor, action, subject } of admin.auditEntries()) {
    if (subject === queueId) lines.push(`${actor}: ${action}`);
  }
  return lines;
}
