/** One group, above its entries. */
import { useState } from 'react';
import type { DeadLetterGroup } from '../../../../everstep/src/contract/dead-letter-groups.js';
import { path } from '../../api/client.js';
import { useMay } from '../../api/instances.js';
import { useApi } from '../../api/queries.js';
import { DeedButton } from '../../components/deed-button.js';
import { countText, quantity } from '../../components/formats.js';
import { ErrorState, Skeleton } from '../../components/states.js';
import { TimeText } from '../../components/time-text.js';
import { type Mark, useMarkGroups } from './group-marks.js';
import { GroupSparkline, GroupStateBadge, GroupWorkflows } from './group-parts.js';
import { GROUP_STATES, whereOf } from './group-words.js';

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
          <ErrorState failure={error} onRetry={() => void refetch()} what="The group" />
        )}
      </div>
    );
  return <Shown group={data} />;
}

function Shown({ group }: { readonly group: DeadLetterGroup }) {
  const may = useMay();
  const mark = useMarkGroups();
  const [busy, setBusy] = useState(false);
  const does = async (kind: Mark) => {
    setBusy(true);
    await mark(kind, [group.fingerprint]);
    setBusy(false);
  };
  return (
    <section className="card group-card" aria-label="The group">
      <div className="card-head">
        <div className="line">
          <GroupStateBadge state={group.state} />
          <span>{whereOf(group)}</span>
          <span className="muted">{GROUP_STATES[group.state].meaning}</span>
        </div>
        <div className="line">
          <DeedButton
            small
            off={
              may.readOnly ??
              (group.acknowledgedAt !== null && group.state === 'known' ? 'It is acknowledged already' : undefined)
            }
            busy={busy}
            onClick={() => does('acknowledge')}
          >
            Acknowledge
          </DeedButton>
          <DeedButton
            small
            off={may.readOnly ?? (group.resolvedAt === null ? undefined : 'It is resolved already')}
            busy={busy}
            onClick={() => does('resolve')}
          >
            Resolve
          </DeedButton>
        </div>
      </div>
      <div className="card-body group-card-body">
        <div className="stack">
          <pre>{group.message}</pre>
          <dl className="facts">
            <div>
              <dt>In the queue now</dt>
              <dd>{quantity(group.count, 'dead letter')}</dd>
            </div>
            <div>
              <dt>Ever</dt>
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
                  {group.acknowledgedBy === null ? null : ` by ${group.acknowledgedBy}`}
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
            <GroupWorkflows group={group} most={20} />
          </div>
        </div>
      </div>
    </section>
  );
}
