/** What a repair covers, for people: filters in words, groups by their message. */
import type { DeadLetterGroup } from '../../../../everstep/src/contract/dead-letter-groups.js';
import type { RepairFilter } from '../../../../everstep/src/contract/repairs.js';
import { path } from '../../api/client.js';
import { useApi } from '../../api/queries.js';
import { quantity } from '../../components/formats.js';
import { coveredWords } from './covered.js';

const MOST_SHOWN = 10;

export function Covered({ filter }: { readonly filter: RepairFilter }) {
  const words = coveredWords(filter);
  if (words.length === 0) return <p>Everything that is in the queue when the plan is made.</p>;
  return (
    <dl className="stack">
      {words.map(({ name, values }) => (
        <div key={name}>
          <dt className="field-label">{values.length > 1 && name === 'Group of errors' ? 'Groups of errors' : name}</dt>
          {values.slice(0, MOST_SHOWN).map((value) => (
            <dd key={value} className="share-name">
              {name === 'Group of errors' ? <GroupName fingerprint={value} /> : <span className="mono">{value}</span>}
            </dd>
          ))}
          {values.length > MOST_SHOWN ? <dd className="muted">and {values.length - MOST_SHOWN} more</dd> : null}
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
