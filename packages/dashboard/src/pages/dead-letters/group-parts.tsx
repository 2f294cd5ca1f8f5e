/** Parts of a group that both the table and the card show. */
import type { DeadLetterGroup } from '../../../../everstep/src/contract/dead-letter-groups.js';
import { Sparkline } from '../../components/sparkline.js';
import { StatusBadge } from '../../components/status-badge.js';
import { countText } from '../../components/times/formats.js';
import { GROUP_STATES, type GroupState, workflowAndHost } from './group-text.js';

export function GroupStateBadge({ state }: { readonly state: GroupState }) {
  const { text, tone, icon, meaning } = GROUP_STATES[state];
  return (
    <span title={meaning}>
      <StatusBadge tone={tone} icon={icon}>
        {text}
      </StatusBadge>
    </span>
  );
}

export function GroupSparkline({ group }: { readonly group: DeadLetterGroup }) {
  return (
    <Sparkline
      values={group.histogram.map(({ count }) => count)}
      label="Failures in each of the last 24 hours, current hour last"
    />
  );
}

export interface GroupWorkflowsProps {
  readonly group: DeadLetterGroup;
  readonly max: number;
}

export function GroupWorkflows({ group: { workflows }, max }: GroupWorkflowsProps) {
  const hiddenCount = workflows.length - max;
  return (
    <ul className="group-counts">
      {workflows.slice(0, max).map(({ workflowUrl, count }) => (
        <li key={workflowUrl}>
          <span className="clip" title={workflowUrl}>
            {workflowAndHost(workflowUrl)}
          </span>
          <span className="numeric">{countText(count)}</span>
        </li>
      ))}
      {hiddenCount > 0 ? <li className="muted">and {countText(hiddenCount)} more</li> : null}
    </ul>
  );
}
