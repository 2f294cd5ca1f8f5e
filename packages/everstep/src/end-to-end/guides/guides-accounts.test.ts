/** Runs the example of docs/guides/accounts.md. */
import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';
import * as accounts from '@everstep/example-guides/accounts';
import { AdminClient, acceptInvitation, Client } from '@everstep/sdk';
import { type StartedTestService, startTestService } from '@everstep/sdk/testing';

let service: StartedTestService;
before(async () => {
  service = await startTestService();
});
after(() => service?.stop());

const ALERT_URL = 'https://shop.example.com/budget';

test('accounts: an instance keeps its token when it moves to a team, and each role has its rights', async () => {
  const { admin, url: baseUrl } = service;
  const trial = await accounts.createTrial(admin);
  assert.ok(trial.token);
  const client = new Client({ baseUrl, token: trial.token });
  assert.ok(await client.settings.get());

  const { teamId, invited } = await accounts.createTeam(admin, 'ada@example.com', 'luca@example.com');
  const [developer, accountant] = await Promise.all(
    invited.map(async ({ member_email: email, invitation_secret: secret = '' }) => {
      const { api_key: apiKey = '' } = await acceptInvitation(secret, { baseUrl });
      return new AdminClient({ baseUrl, email, apiKey });
    }),
  );
  assert.ok(developer && accountant);
  await assert.rejects(developer.instances.get(trial.id), { status: 404 });
  await accounts.moveToTeam(admin, trial.id, teamId);
  assert.ok(await client.settings.get(), 'the token stays valid');
  assert.equal((await developer.instances.get(trial.id)).token, trial.token);
  assert.equal((await accountant.instances.get(trial.id)).token, undefined);

  await assert.rejects(accounts.setBudget(developer, trial.id, ALERT_URL), { status: 403 });
  await accounts.setBudget(accountant, trial.id, ALERT_URL);
  const { budget, budget_alert_url } = await admin.instances.get(trial.id);
  assert.deepEqual([budget, budget_alert_url], [50, ALERT_URL]);
  assert.deepEqual(await accounts.changesOf(accountant, trial.id), [
    'admin@localhost: queue.read-tokens',
    'luca@example.com: queue.set-budget-alert',
    'luca@example.com: queue.update-budget',
    'ada@example.com: queue.read-tokens',
    'admin@localhost: queue.move-to-team',
  ]);
});
