/** Shows which dead letters a repair covers: its filters, and error groups by their message. */
import type { DeadLetterGroup } from '../../../../everstep/src/contract/dead-letter-groups.js';
import type { RepairFilter } from '../../../../everstep/src/contract/repairs.js';
import { path } from '../../api/client.js';
import { useApi } from '../../api/queries.js';
import { quantity } from '../../components/times/formats.js';
import { describeFilter } from '../dead-letters/entry-filters.js';

const MAX_SHOWN = 10;

export function RepairScope({ filter }: { readonly filter: RepairFilter }) {
  const parts = describeFilter(filter);
  if (parts.length === 0) return <p>All dead letters that exist when the plan is created</p>;
  return (
    <dl className="stack">
      {parts.map(({ filter: kind, name, values }) => (
        <div key={kind}>
          <dt className="field-label">{values.length > 1 && kind === 'fingerprint' ? 'Error groups' : name}</dt>
          {values.slice(0, MAX_SHOWN).map((value) => (
            <dd key={value} className="share-name">
              {kind === 'fingerprint' ? <GroupName fingerprint={value} /> : <span className="mono">{value}</span>}
            </dd>
          ))}
          {values.length > MAX_SHOWN ? <dd className="muted">and {values.length - MAX_SHOWN} more</dd> : null}
        </div>
      ))}
    </dl>
  );
}

function GroupName({ fingerprint }: { readonly fingerprint: string }) {
  const { data } = useApi<DeadLetterGroup>({
    topic: 'dlq',
    name: 'group',
    url: path`/v2/workflows/dlq/groups/${fingerprint}`,
  });
  if (data === undefined) return <span className="mono">{fingerprint}</span>;
  return (
    <>
      <span className="mono">{data.message}</span> <span className="muted">({quantity(data.count, 'dead letter')} now)</span>
    </>
  );
}
