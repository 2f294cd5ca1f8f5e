/** Requirements for every store. A test file of each implementation calls `storeConformance`. */
import { describe } from 'node:test';
import { accountConformance } from './accounts/accounts.js';
import { auditConformance } from './accounts/accounts-audit.js';
import { invitationConformance } from './accounts/accounts-invitations.js';
import { signInConformance } from './accounts/accounts-sign-in.js';
import { teamConformance } from './accounts/accounts-teams.js';
import { usageConformance } from './accounts/accounts-usage.js';
import { userConformance } from './accounts/accounts-users.js';
import { auditChainConformance } from './accounts/audit-chain.js';
import { budgetAlertConformance } from './accounts/budget-alerts.js';
import { dayCountConformance } from './accounts/day-counts.js';
import { instanceRemovalConformance } from './accounts/instance-removal.js';
import { instanceConformance } from './accounts/instances.js';
import { loginConformance } from './accounts/logins.js';
import { namedTokenConformance } from './accounts/named-tokens.js';
import { sessionConformance } from './accounts/sessions.js';
import { storedBytesConformance } from './accounts/stored-bytes.js';
import { alertConformance } from './alerts/alerts.js';
import { commitConformance } from './commits.js';
import { deadLetterGroupConformance } from './dead-letter-groups.js';
import { deadLetterConformance } from './dead-letters.js';
import { eventConformance } from './events.js';
import { flowControlConformance } from './flow-control.js';
import { forkConformance } from './forks.js';
import { groupRulesConformance } from './groups/rules.js';
import { groupTriageConformance } from './groups/triage.js';
import { groupUpkeepConformance } from './groups/upkeep.js';
import type { OpenStore } from './harness.js';
import { historyConformance } from './histories.js';
import { insightConformance } from './insights/counters.js';
import { insightDayConformance } from './insights/days.js';
import { listingConformance } from './listings.js';
import { measureConformance } from './measure.js';
import { messageConformance } from './messages.js';
import { progressConformance } from './progress.js';
import { repairConformance } from './repairs.js';
import { retentionConformance } from './retention.js';
import { runLogConformance } from './run-log.js';
import { scheduleConformance } from './schedules.js';
import { searchIndexConformance } from './search-indexes.js';
import { taskKindConformance } from './task-kinds.js';
import { triggerConformance } from './triggers.js';
import { unchangedConformance } from './unchanged.js';
import { versionConformance } from './versions.js';

export type { OpenStore } from './harness.js';

/** Requirements for runs and what belongs to them, without listings, which read thousands of pages. */
export function runConformance(name: string, open: OpenStore): void {
  describe(`${name} as a store of runs`, () => {
    commitConformance(open);
    measureConformance(open);
    insightConformance(open);
    insightDayConformance(open);
    versionConformance(open);
    progressConformance(open);
    taskKindConformance(open);
    eventConformance(open);
    runLogConformance(open);
    historyConformance(open);
    deadLetterConformance(open);
    deadLetterGroupConformance(open);
    groupUpkeepConformance(open);
    groupRulesConformance(open);
    groupTriageConformance(open);
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
    alertConformance(open);
  });
}

/** All requirements for a store. */
export function storeConformance(name: string, open: OpenStore): void {
  runConformance(name, open);
  describe(`${name} as a store with listings`, () => listingConformance(open));
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
