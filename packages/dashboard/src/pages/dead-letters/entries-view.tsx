/** Individual dead letters, with all filters. */
import { Link } from '@tanstack/react-router';
import { useMemo, useState } from 'react';
import type { DeadLetterEntry, DeadLetterPage } from '../../../../everstep/src/contract/dead-letters.js';
import { path } from '../../api/client.js';
import { useInstanceId, usePermissions } from '../../api/instances.js';
import { type CursorPage, useCursorList } from '../../api/lists.js';
import { ActionButton } from '../../components/action-button.js';
import { splitError } from '../../components/errors/error-text.js';
import { Icon } from '../../components/icons.js';
import { Labels } from '../../components/labels.js';
import { ReadOnlyNote } from '../../components/read-only-note.js';
import { RunId } from '../../components/run-link.js';
import { EmptyState } from '../../components/states.js';
import { StatusBadge } from '../../components/status-badge.js';
import type { Column } from '../../components/tables/data-table.js';
import { FilterBar } from '../../components/tables/filter-bar.js';
import { invalidFieldsOf } from '../../components/tables/filter-fields.js';
import { listOf, useFilters } from '../../components/tables/filters.js';
import { InvalidFilters } from '../../components/tables/invalid-filters.js';
import { ListHistogram } from '../../components/tables/list-histogram.js';
import { type ListOrder, useListOrder } from '../../components/tables/list-order.js';
import { ListTable } from '../../components/tables/list-table.js';
import { quantity } from '../../components/times/formats.js';
import { TimeText } from '../../components/times/time-text.js';
import { UrlText } from '../../components/url-text.js';
import { CallbackBadge } from './callback-badge.js';
import { ALL_FIELDS, COUNTED_FIELDS, ENTRY_FILTERS, entryQuery, FIELDS, MORE_FIELDS, RANGE } from './entry-filters.js';
import { GroupCard } from './group-card.js';
import { entryLocation } from './group-text.js';
import { MAX_SELECTED, planOfEntries, planOfFilters } from './plan-parameters.js';

const read = ({ cursor, messages }: DeadLetterPage): CursorPage<DeadLetterEntry> => ({
  rows: messages,
  cursor: cursor === '' ? null : cursor,
});
const idOf = ({ dlqId }: DeadLetterEntry): string => dlqId;
const nameOf = ({ workflowRunId }: DeadLetterEntry): string => `dead letter of run ${workflowRunId}`;

/** The server sorts dead letters by the time of the failure only, because that is the only order with an index. */
const columnsOf = (sort: ListOrder['sort']): readonly Column<DeadLetterEntry>[] => [
  {
    id: 'at',
    header: 'Failed',
    sort,
    width: '100px',
    stackUnder: 'error',
    cell: ({ createdAt }) => <TimeText unixMs={createdAt} style="relative" />,
  },
  {
    id: 'error',
    header: 'Error',
    sortBy: ({ error }) => error,
    width: 'minmax(0, 6fr)',
    isLink: true,
    cell: ({ error, responseStatus, deletionAt }) => (
      <div className="group-error entry-lines">
        <span className="group-message mono" title={error}>
          {splitError(error).message}
        </span>
        <span className="group-details">
          {deletionAt === undefined ? null : (
            <StatusBadge tone="warn" icon="clock">
              Deletion <TimeText unixMs={deletionAt} style="relative" />
            </StatusBadge>
          )}
          <span>{entryLocation({ error, responseStatus })}</span>
        </span>
      </div>
    ),
  },
  {
    id: 'run',
    header: 'Run',
    sortBy: ({ workflowUrl }) => workflowUrl,
    width: 'minmax(0, 4fr)',
    stackUnder: 'error',
    cell: ({ workflowRunId, workflowUrl }) => (
      <div className="group-error entry-lines">
        <span className="mono" title={workflowRunId}>
          <RunId runId={workflowRunId} />
        </span>
        <span className="group-details">
          <UrlText url={workflowUrl} />
        </span>
      </div>
    ),
  },
  {
    id: 'labels',
    header: 'Labels',
    width: 'minmax(0, 2fr)',
    shownFrom: 'full',
    stackUnder: 'error',
    cell: ({ labels }) => <Labels labels={labels} max={2} page="dead-letters" />,
  },
  {
    id: 'callback',
    header: 'Failure callback',
    width: '132px',
    shownFrom: 'full',
    cell: ({ failureFunctionState }) =>
      failureFunctionState === undefined ? <span className="muted">none</span> : <CallbackBadge state={failureFunctionState} />,
  },
];

const NO_IDS: ReadonlySet<string> = new Set();

export function EntriesView() {
  const instanceId = useInstanceId();
  const permissions = usePermissions();
  const filters = useFilters(ENTRY_FILTERS);
  const invalidFields = invalidFieldsOf(ALL_FIELDS, filters.values);
  const [selectedIds, setSelectedIds] = useState(NO_IDS);
  const fingerprints = listOf(filters.values.fingerprint);
  const query = entryQuery(filters.values);
  const order = useListOrder();
  const columns = useMemo(() => columnsOf(order.sort), [order.sort]);
  const list = useCursorList<DeadLetterPage, DeadLetterEntry>({
    topic: 'dlq',
    name: 'entries',
    url: '/v2/workflows/dlq',
    query: { ...query, ...order.query },
    read,
    idOf,
    enabled: invalidFields.length === 0,
  });
  const selected = list.rows.filter((entry) => selectedIds.has(entry.dlqId) && !list.removedIds.has(entry.dlqId));
  const isOverSelectionLimit = selected.length > MAX_SELECTED;
  const plan = planOfEntries(selected.map(idOf)) ?? planOfFilters(filters.values);
  const [onlyFingerprint] = fingerprints?.length === 1 ? fingerprints : [];
  return (
    <>
      {onlyFingerprint === undefined ? null : <GroupCard fingerprint={onlyFingerprint} />}
      <FilterBar filters={filters} fields={FIELDS} moreFields={MORE_FIELDS} />
      {invalidFields.length > 0 ? (
        <InvalidFilters fields={invalidFields} rowsName="dead letters" onClear={filters.clear} />
      ) : (
        <>
          <ListHistogram
            listName="dead-letters"
            list={list}
            query={query}
            filters={filters}
            range={RANGE}
            fields={COUNTED_FIELDS}
          />
          <ListTable
            label="Dead letters"
            list={list}
            rowsName="dead letters"
            columns={columns}
            idOf={idOf}
            nameOf={nameOf}
            hrefOf={({ dlqId }) => path`/q/${instanceId}/dead-letters/${dlqId}`}
            estimatedHeight={58}
            selection={{ ids: selectedIds, onChange: setSelectedIds }}
            empty={
              filters.isFiltered ? (
                <EmptyState
                  title="No matching dead letters"
                  action={
                    <button type="button" className="button" onClick={filters.clear}>
                      Clear filters
                    </button>
                  }
                >
                  Dead letters that were resumed, restarted or deleted are no longer in the dead letter queue.
                </EmptyState>
              ) : (
                <EmptyState title="No dead letters">Runs that fail permanently appear here.</EmptyState>
              )
            }
          />
          {list.rows.length === 0 ? null : (
            <section
              className="selection-bar"
              aria-label="Actions for selected dead letters"
              data-none={selected.length === 0 ? '' : undefined}
            >
              <span role="status">
                {selected.length === 0 ? (
                  `None selected: a repair applies to ${filters.isFiltered ? 'all that match the filters' : 'the whole queue'}`
                ) : (
                  <>
                    <strong>{quantity(selected.length, 'dead letter')}</strong> selected
                    {isOverSelectionLimit ? `; select at most ${MAX_SELECTED} or use a filter` : ''}
                  </>
                )}
              </span>
              <div className="line">
                <ReadOnlyNote />
                <ActionButton
                  variant="quiet"
                  disabledReason={selected.length === 0 ? 'No dead letters are selected' : undefined}
                  onClick={() => setSelectedIds(NO_IDS)}
                >
                  Clear selection
                </ActionButton>
                {permissions.canWrite && !isOverSelectionLimit ? (
                  <Link to="/q/$instanceId/repairs/new" params={{ instanceId }} search={plan} className="button button-primary">
                    <Icon name="repairs" />
                    {selected.length === 0 ? 'Plan repair for all' : 'Plan repair'}
                  </Link>
                ) : (
                  <ActionButton
                    variant="primary"
                    disabledReason={
                      permissions.readOnlyReason ?? `Select at most ${MAX_SELECTED} dead letters, or use a filter to cover more`
                    }
                  >
                    <Icon name="repairs" />
                    Plan repair
                  </ActionButton>
                )}
              </div>
            </section>
          )}
        </>
      )}
    </>
  );
}
