/** Tests how many items an account may own by the plans of its queue instances. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { createSystemRandom } from '../../clock/system-random.js';
import { openSqliteStore } from '../../stores/sqlite/index.js';
import { createPeople, doneValue } from '../people.fixture.js';
import { loadPlans } from '../plans/plans.js';
import { createAccountService } from '../service.js';
import { createAuthority } from '../tokens/authority.js';

const REGION = 'eu-central-1';
const PLANS = JSON.stringify({
  plans: [
    { name: 'standard', maxInstances: 2, maxTeams: 1, maxTeamMembers: 4 },
    { name: 'large', maxInstances: 3, maxTeams: 2, maxTeamMembers: 5 },
  ],
});

test("instances, teams and members are limited by the account's largest plan, except for operators without an instance", async (t) => {
  const store = await openSqliteStore({ file: ':memory:' });
  t.after(() => store.close());
  const read = loadPlans(PLANS);
  assert.ok(read.ok);
  const { accounts } = store;
  const now = () => 1_800_000_000_000;
  const authority = await createAuthority({ store, now });
  const service = createAccountService({ accounts, authority, now, random: createSystemRandom(), plans: read.plans });
  const { principals, teamId } = await createPeople(accounts, service);
  const { operator, owner, stranger } = principals;
  const create = (who: typeof owner, inTeam?: string) =>
    service.createInstance(who, { name: 'n', region: REGION, ...(inTeam === undefined ? {} : { teamId: inTeam }) });

  const first = doneValue(await create(stranger));
  doneValue(await create(stranger));
  const refused = await create(stranger);
  assert.ok(refused.kind === 'conflict' && refused.message.includes('limit of queue instances (maxInstances: 2)'));
  assert.equal((await service.listInstances(stranger)).length, 2);
  assert.equal((await service.createTeam(stranger, 'second')).kind, 'conflict');
  doneValue(await service.setPlan(operator, { instanceId: first.instance.instanceId, plan: 'large' }));
  doneValue(await create(stranger));
  doneValue(await service.createTeam(stranger, 'second'));

  const invite = (email: string) => service.putMember(owner, { teamId, email, role: 'dev' });
  assert.equal((await invite('fifth@w.test')).kind, 'conflict');
  const ofTeam = doneValue(await create(owner, teamId)).instance.instanceId;
  doneValue(await service.setPlan(operator, { instanceId: ofTeam, plan: 'large' }));
  doneValue(await invite('fifth@w.test'));

  for (let n = 0; n < 5; n++) doneValue(await create(operator));
  const moved = await service.moveToTeam(stranger, { instanceId: first.instance.instanceId, teamId });
  assert.equal(moved.kind, 'not-found');
});
