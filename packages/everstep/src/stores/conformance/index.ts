/** What every store must do. Run it on each implementation, in a test file of its own. */
import { describe } from 'node:test';
import { accountConformance } from './accounts.js';
import { auditConformance } from './accounts-audit.js';
import { invitationConformance } from './accounts-invitations.js';
import { signInConformance } from './accounts-sign-in.js';
import { teamConformance } from './accounts-teams.js';
import { usageConformance } from './accounts-usage.js';
import { userConformance } from './accounts-users.js';
import { auditChainConformance } from './audit-chain.js';
import { budgetAlertConformance } from './budget-alerts.js';
import { commitConformance } from './commits.js';
import { dayCountConformance } from './day-counts.js';
import { deadLetterGroupConformance } from './dead-letter-groups.js';
import { deadLetterConformance } from './dead-letters.js';
import { eventConformance } from './events.js';
import { flowControlConformance } from './flow-control.js';
import { forkConformance } from './forks.js';
import { groupUpkeepConformance } from './group-upkeep.js';
import type { OpenStore } from './harness.js';
import { historyConformance } from './histories.js';
import { instanceRemovalConformance } from './instance-removal.js';
import { instanceConformance } from './instances.js';
import { listingConformance } from './listings.js';
import { loginConformance } from './logins.js';
import { messageConformance } from './messages.js';
import { namedTokenConformance } from './named-tokens.js';
import { progressConformance } from './progress.js';
import { repairConformance } from './repairs.js';
import { retentionConformance } from './retention.js';
import { runLogConformance } from './run-log.js';
import { scheduleConformance } from './schedules.js';
import { searchIndexConformance } from './search-indexes.js';
import { sessionConformance } from './sessions.js';
import { storedBytesConformance } from './stored-bytes.js';
import { taskKindConformance } from './task-kinds.js';
import { triggerConformance } from './triggers.js';
import { unchangedConformance } from './unchanged.js';
import { versionConformance } from './versions.js';

export type { OpenStore, StoreUnderTest } from './harness.js';

/** Runs, what is left of them, and what bounds and begins them; not their lists, which ask for pages by the thousand. */
export function runConformance(name: string, open: OpenStore): void {
  describe(`${name} as a store of runs`, () => {
    commitConformance(open);
    versionConformance(open);
    progressConformance(open);
    taskKindConformance(open);
    eventConformance(open);
    runLogConformance(open);
    historyConformance(open);
    deadLetterConformance(open);
    deadLetterGroupConformance(open);
    groupUpkeepConformance(open);
    triggerConformance(open);
    flowControlConformance(open);
    forkConformance(open);
    messageConformance(open);
    scheduleConformance(open);
    unchangedConformance(open);
    instanceConformance(open);
    instanceRemovalConformance(open);
    retentionConformance(open);
    repairConformance(open);
    dayCountConformance(open);
    storedBytesConformance(open);
  });
}

/** All of it. */
export function storeConformance(name: string, open: OpenStore): void {
  runConformance(name, open);
  describe(`${name} as a store that is listed`, () => listingConformance(open));
  describe(`${name} as a store of accounts`, () => {
    accountConformance(open);
    namedTokenConformance(open);
    teamConformance(open);
    invitationConformance(open);
    userConformance(open);
    usageConformance(open);
    budgetAlertConformance(open);
    loginConformance(open);
    sessionConformance(open);
    signInConformance(open);
    auditConformance(open);
    auditChainConformance(open);
    searchIndexConformance(open);
  });
}
