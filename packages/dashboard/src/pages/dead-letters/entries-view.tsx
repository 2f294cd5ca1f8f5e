/** Dead letters one by one, with every filter that there is. */
import { Link, useNavigate } from '@tanstack/react-router';
import { useState } from 'react';
import type { DeadLetterEntry, DeadLetterPage } from '../../../../everstep/src/contract/dead-letters.js';
import { useMay, useQueueId } from '../../api/instances.js';
import { type CursorPage, useCursorList } from '../../api/lists.js';
import type { Column } from '../../components/data-table.js';
import { DeedButton } from '../../components/deed-button.js';
import { FilterBar, type FilterField } from '../../components/filter-bar.js';
import { listOf, listWithWholeOf, useFilters } from '../../components/filters.js';
import { quantity } from '../../components/formats.js';
import { Icon } from '../../components/icons.js';
import { Labels } from '../../components/labels.js';
import { ListTable } from '../../components/list-table.js';
import { ReadOnlyNote } from '../../components/read-only-note.js';
import { EmptyState } from '../../components/states.js';
import { StatusBadge } from '../../components/status-badge.js';
import { TimeText } from '../../components/time-text.js';
import { CallbackBadge } from './callback-state.js';
import { ENTRY_FILTERS, type EntryFilter, MOST_NAMED, planOfEntries, planOfFilters } from './choice.js';
import { GroupCard } from './group-card.js';
import { workflowName } from './group-words.js';

const FIELDS: readonly FilterField<EntryFilter>[] = [
  { kind: 'list', name: 'workflowUrl', label: 'Workflow URL', wide: true },
  { kind: 'text', name: 'workflowRunId', label: 'Run id' },
  { kind: 'time', name: 'fromDate', label: 'Failed since' },
  { kind: 'time', name: 'toDate', label: 'Failed until' },
];
const MORE_FIELDS: readonly FilterField<EntryFilter>[] = [
  { kind: 'list', name: 'label', label: 'Label' },
  { kind: 'list', name: 'flowControlKey', label: 'Flow control key' },
  { kind: 'list', name: 'callerIp', label: 'Caller address' },
  {
    kind: 'choice',
    name: 'failureFunctionState',
    label: 'Failure callback',
    any: 'Any, or none',
    options: [
      { value: 'CALLBACK_INPROGRESS', text: 'Under way' },
      { value: 'CALLBACK_SUCCESS', text: 'Told' },
      { value: 'CALLBACK_FAIL', text: 'Failed' },
      { value: 'CALLBACK_CANCELED', text: 'Canceled' },
    ],
  },
];

const read = ({ cursor, messages }: DeadLetterPage): CursorPage<DeadLetterEntry> => ({
  rows: messages,
  cursor: cursor === '' ? null : cursor,
});
const idOf = ({ dlqId }: DeadLetterEntry): string => dlqId;
const nameOf = ({ workflowRunId }: DeadLetterEntry): string => `the dead letter of run ${workflowRunId}`;

const COLUMNS: readonly Column<DeadLetterEntry>[] = [
  {
    id: 'at',
    header: 'Failed',
    width: '108px',
    under: 'error',
    cell: ({ createdAt }) => <TimeText unixMs={createdAt} style="relative" />,
  },
  {
    id: 'error',
    header: 'Error',
    width: 'minmax(0, 3fr)',
    cell: ({ error, responseStatus, deletionAt }) => (
      <div className="group-error">
        <span className="group-message mono">{error}</span>
        <span className="group-where">
          {deletionAt === undefined ? null : (
            <StatusBadge tone="warn" icon="clock">
              Deleted <TimeText unixMs={deletionAt} style="relative" />
            </StatusBadge>
          )}
          <span>{responseStatus === undefined ? 'no answer' : `status ${responseStatus}`}</span>
        </span>
      </div>
    ),
  },
  {
    id: 'run',
    header: 'Run',
    width: 'minmax(0, 2fr)',
    under: 'error',
    cell: ({ workflowRunId, workflowUrl }) => (
      <div className="group-error">
        <span className="mono clip" title={workflowRunId}>
          {workflowRunId}
        </span>
        <span className="group-where">
          <span className="clip" title={workflowUrl}>
            {workflowName(workflowUrl)}
          </span>
        </span>
      </div>
    ),
  },
  {
    id: 'labels',
    header: 'Labels',
    width: 'minmax(0, 1fr)',
    from: 'wide',
    under: 'error',
    cell: ({ labels }) => <Labels labels={labels} most={2} />,
  },
  {
    id: 'callback',
    header: 'Failure callback',
    width: '132px',
    from: 'wide',
    cell: ({ failureFunctionState }) =>
      failureFunctionState === undefined ? <span className="muted">none</span> : <CallbackBadge state={failureFunctionState} />,
  },
];

const NONE: ReadonlySet<string> = new Set();

export function EntriesView() {
  const queueId = useQueueId();
  const navigate = useNavigate();
  const may = useMay();
  const filters = useFilters(ENTRY_FILTERS);
  const [ids, setIds] = useState(NONE);
  const { fingerprint, workflowUrl, label, flowControlKey, callerIp, ...plain } = filters.values;
  const fingerprints = listOf(fingerprint);
  const list = useCursorList<DeadLetterPage, DeadLetterEntry>({
    topic: 'dlq',
    name: 'entries',
    url: '/v2/workflows/dlq',
    query: {
      ...plain,
      fingerprint: fingerprints,
      workflowUrl: listWithWholeOf(workflowUrl),
      label: listOf(label),
      flowControlKey: listWithWholeOf(flowControlKey),
      callerIp: listOf(callerIp),
    },
    read,
    idOf,
  });
  const chosen = list.rows.filter((entry) => ids.has(entry.dlqId) && !list.gone.has(entry.dlqId));
  const tooMany = chosen.length > MOST_NAMED;
  const plan = chosen.length > 0 ? planOfEntries(chosen.map(idOf)) : planOfFilters(filters.values);
  const [single] = fingerprints?.length === 1 ? fingerprints : [];
  return (
    <>
      {single === undefined ? null : <GroupCard fingerprint={single} />}
      <FilterBar filters={filters} fields={FIELDS} moreFields={MORE_FIELDS} />
      <ListTable
        label="Dead letters"
        list={list}
        what="dead letters"
        columns={COLUMNS}
        idOf={idOf}
        nameOf={nameOf}
        onOpen={({ dlqId }) => navigate({ to: '/q/$queueId/dead-letters/$dlqId', params: { queueId, dlqId } })}
        estimatedHeight={58}
        selection={{ ids, onChange: setIds }}
        empty={
          filters.any ? (
            <EmptyState
              title="No dead letter matches these filters"
              action={
                <button type="button" className="button" onClick={filters.clear}>
                  Clear filters
                </button>
              }
            >
              They may have been resumed, restarted or deleted meanwhile.
            </EmptyState>
          ) : (
            <EmptyState title="The queue is empty">Runs that fail after all their retries come here.</EmptyState>
          )
        }
      />
      {list.rows.length === 0 ? null : (
        <section
          className="choice-bar"
          aria-label="With the chosen dead letters"
          data-none={chosen.length === 0 ? '' : undefined}
        >
          <span role="status">
            {chosen.length === 0 ? (
              `Nothing chosen: ${filters.any ? 'all that match the filters' : 'the whole queue'}`
            ) : (
              <>
                <strong>{quantity(chosen.length, 'dead letter')}</strong> chosen
                {tooMany ? `; at most ${MOST_NAMED} can be named, a filter says it better` : ''}
              </>
            )}
          </span>
          <div className="line">
            <ReadOnlyNote />
            <DeedButton look="quiet" off={chosen.length === 0 ? 'Nothing is chosen' : undefined} onClick={() => setIds(NONE)}>
              Choose none
            </DeedButton>
            {may.write && !tooMany ? (
              <Link to="/q/$queueId/repairs/new" params={{ queueId }} search={plan} className="button button-primary">
                <Icon name="repairs" />
                {chosen.length === 0 ? 'Plan a repair of all' : 'Plan a repair'}
              </Link>
            ) : (
              <DeedButton
                look="primary"
                off={may.readOnly ?? `At most ${MOST_NAMED} dead letters can be named; a filter covers more`}
              >
                <Icon name="repairs" />
                Plan a repair
              </DeedButton>
            )}
          </div>
        </section>
      )}
    </>
  );
}
