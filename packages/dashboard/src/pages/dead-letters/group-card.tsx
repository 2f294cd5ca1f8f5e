/** Details of one group, shown above its entries. */
import { Link } from '@tanstack/react-router';
import { useState } from 'react';
import type { DeadLetterGroup } from '../../../../everstep/src/contract/dead-letter-groups.js';
import { path } from '../../api/client.js';
import { useInstanceId, usePermissions } from '../../api/instances.js';
import { useApi } from '../../api/queries.js';
import { ActionButton } from '../../components/action-button.js';
import { ErrorView } from '../../components/errors/error-view.js';
import { actorName } from '../../components/people/actor-name.js';
import { ErrorState, Skeleton } from '../../components/states.js';
import { countText, quantity } from '../../components/times/formats.js';
import { TimeText } from '../../components/times/time-text.js';
import { type Mark, useMarkGroups } from './group-marks.js';
import { GroupSparkline, GroupStateBadge, GroupWorkflows } from './group-parts.js';
import { failureLocation, GROUP_STATES } from './group-text.js';
import { GroupTriage } from './group-triage.js';

export function GroupCard({ fingerprint }: { readonly fingerprint: string }) {
  const { data, error, refetch } = useApi<DeadLetterGroup>({
    topic: 'dlq',
    name: 'group',
    url: path`/v2/workflows/dlq/groups/${fingerprint}`,
  });
  if (data === undefined)
    return (
      <div className="card group-card">
        {error === null ? (
          <div className="card-body">
            <Skeleton lines={4} />
          </div>
        ) : (
          <ErrorState failure={error} onRetry={() => void refetch()} subject="this group" />
        )}
      </div>
    );
  return <GroupDetails group={data} />;
}

function GroupDetails({ group }: { readonly group: DeadLetterGroup }) {
  const instanceId = useInstanceId();
  const permissions = usePermissions();
  const mark = useMarkGroups();
  const [busy, setBusy] = useState(false);
  const markGroup = async (kind: Mark) => {
    setBusy(true);
    await mark(kind, [group.fingerprint]);
    setBusy(false);
  };
  return (
    <section className="card group-card" aria-label="Group">
      <div className="card-head">
        <div className="line">
          <GroupStateBadge state={group.state} />
          <span>{failureLocation(group)}</span>
          <span className="muted">{GROUP_STATES[group.state].meaning}</span>
        </div>
        <div className="line">
          <ActionButton
            small
            disabledReason={
              permissions.readOnlyReason ??
              (group.acknowledgedAt !== null && group.state === 'known' ? 'This group is already acknowledged' : undefined)
            }
            busy={busy}
            onClick={() => markGroup('acknowledge')}
          >
            Acknowledge
          </ActionButton>
          <ActionButton
            small
            disabledReason={
              permissions.readOnlyReason ?? (group.resolvedAt === null ? undefined : 'This group is already resolved')
            }
            busy={busy}
            onClick={() => markGroup('resolve')}
          >
            Resolve
          </ActionButton>
        </div>
      </div>
      <div className="card-body group-card-body">
        <div className="stack">
          <ErrorView
            message={group.latest?.message ?? group.message}
            thrown={group.latest?.source ? { source: group.latest.source } : undefined}
          />
          {group.exampleDlqId === null ? null : (
            <p>
              <Link to="/q/$instanceId/dead-letters/$dlqId" params={{ instanceId, dlqId: group.exampleDlqId }}>
                Open newest dead letter
              </Link>
            </p>
          )}
          <dl className="facts">
            <div>
              <dt>In the queue</dt>
              <dd>{quantity(group.count, 'dead letter')}</dd>
            </div>
            <div>
              <dt>Total so far</dt>
              <dd>{countText(group.total)}</dd>
            </div>
            <div>
              <dt>First seen</dt>
              <dd>
                <TimeText unixMs={group.firstSeenAt} style="relative" />
              </dd>
            </div>
            <div>
              <dt>Last seen</dt>
              <dd>
                <TimeText unixMs={group.lastSeenAt} style="relative" />
              </dd>
            </div>
            {group.acknowledgedAt === null ? null : (
              <div>
                <dt>Acknowledged</dt>
                <dd>
                  <TimeText unixMs={group.acknowledgedAt} style="relative" />
                  {group.acknowledgedBy === null ? null : ` by ${actorName(group.acknowledgedBy)}`}
                </dd>
              </div>
            )}
            {group.resolvedAt === null ? null : (
              <div>
                <dt>Resolved</dt>
                <dd>
                  <TimeText unixMs={group.resolvedAt} style="relative" />
                </dd>
              </div>
            )}
          </dl>
        </div>
        <div className="stack">
          <div>
            <p className="field-label">Last 24 hours</p>
            <GroupSparkline group={group} />
          </div>
          <div>
            <p className="field-label">Workflows</p>
            <GroupWorkflows group={group} max={20} />
          </div>
        </div>
      </div>
      <GroupTriage group={group} />
    </section>
  );
}
