import type { AdminClient, QueueInstance } from '@everstep/sdk';

/** Creates a queue instance in your personal account. The response contains its tokens. */
export function createTrial(admin: AdminClient): Promise<QueueInstance> {
  return admin.instances.create({ name: 'trial', region: 'eu-central-1' });
}

/** Creates a team and invites a developer and an accountant. Send each of them their `invitation_secret`. */
export async function createTeam(admin: AdminClient, developer: string, accountant: string) {
  const team = await admin.teams.create('Shop');
  const invited = [
    await admin.teams.members.put(team.id, developer, 'dev'),
    await admin.teams.members.put(team.id, accountant, 'finance'),
  ];
  return { teamId: team.id, invited };
}

/** Moves the instance to the team, which then owns it and pays for it. Its tokens stay valid. */
export async function moveToTeam(admin: AdminClient, instanceId: string, teamId: string): Promise<void> {
  await admin.instances.moveToTeam(instanceId, teamId);
}

/** Sets a budget of $50 a month. The alert URL is called at $40, and again at $50. */
export async function setBudget(admin: AdminClient, instanceId: string, alertUrl: string): Promise<void> {
  await admin.instances.updateBudget(instanceId, 50);
  await admin.instances.setBudgetAlert(instanceId, alertUrl);
}

/** Returns who changed what in the instance, newest first. */
export async function changesOf(admin: AdminClient, instanceId: string): Promise<readonly string[]> {
  const lines: string[] = [];
  for await (const { actor, action, subject } of admin.auditEntries()) {
    if (subject === instanceId) lines.push(`${actor}: ${action}`);
  }
  return lines;
}
