/** Alerts that the rules have opened, newest first. */
import { useId } from 'react';
import type { AlertEntry, AlertPage } from '../../../../everstep/src/contract/alerts/alerts.js';
import { type CursorPage, useCursorList } from '../../api/lists.js';
import { CopyId } from '../../components/copy-id.js';
import { RunLink } from '../../components/run-link.js';
import { EmptyState } from '../../components/states.js';
import { StatusBadge } from '../../components/status-badge.js';
import type { Column } from '../../components/tables/data-table.js';
import { FilterBar, type FilterField } from '../../components/tables/filter-bar.js';
import { useFilters } from '../../components/tables/filters.js';
import { ListTable } from '../../components/tables/list-table.js';
import { countText } from '../../components/times/formats.js';
import { TimeText } from '../../components/times/time-text.js';

const FILTERS = ['state'] as const;
const FIELDS: readonly FilterField<'state'>[] = [
  {
    kind: 'choice',
    name: 'state',
    label: 'State',
    anyText: 'Any state',
    options: [
      { value: 'open', text: 'Open' },
      { value: 'ended', text: 'Ended' },
    ],
  },
];

const read = ({ cursor, alerts }: AlertPage): CursorPage<AlertEntry> => ({ rows: alerts, cursor: cursor === '' ? null : cursor });
const idOf = ({ alertId }: AlertEntry): string => alertId;

const COLUMNS: readonly Column<AlertEntry>[] = [
  {
    id: 'state',
    header: 'State',
    sortBy: ({ endedAt }) => (endedAt === undefined ? 1 : 0),
    width: '104px',
    cell: ({ endedAt }) =>
      endedAt === undefined ? <StatusBadge tone="bad">Open</StatusBadge> : <StatusBadge tone="quiet">Ended</StatusBadge>,
  },
  {
    id: 'summary',
    header: 'Alert',
    width: 'minmax(0, 3fr)',
    isLink: true,
    cell: ({ summary, error, rule }) => (
      <>
        <div className="clip" title={summary}>
          {summary}
        </div>
        <div className="muted clip" title={error ?? rule}>
          {error ?? `Rule ${rule}`}
        </div>
      </>
    ),
  },
  {
    id: 'run',
    header: 'Last run',
    width: 'minmax(0, 1fr)',
    shownFrom: 'wide',
    cell: ({ workflowRunId }) => {
      if (workflowRunId === undefined) return <span className="muted">none</span>;
      // A plain message has no page.
      return workflowRunId.startsWith('msg_') ? (
        <CopyId value={workflowRunId} valueName="message id" />
      ) : (
        <RunLink runId={workflowRunId} />
      );
    },
  },
  {
    id: 'count',
    header: 'Count',
    sortBy: ({ occurrences }) => occurrences,
    width: '76px',
    align: 'right',
    shownFrom: 'medium',
    cell: ({ occurrences }) => countText(occurrences),
  },
  {
    id: 'opened',
    header: 'Opened',
    sortBy: ({ openedAt }) => openedAt,
    width: '118px',
    stackUnder: 'summary',
    cell: ({ openedAt }) => <TimeText unixMs={openedAt} label="Opened" />,
  },
  {
    id: 'ended',
    header: 'Ended',
    sortBy: ({ endedAt = null }) => endedAt,
    width: '118px',
    shownFrom: 'wide',
    cell: ({ endedAt }) =>
      endedAt === undefined ? <span className="muted">not yet</span> : <TimeText unixMs={endedAt} label="Ended" />,
  },
];

export function AlertsList() {
  const heading = useId();
  const filters = useFilters(FILTERS);
  const list = useCursorList<AlertPage, AlertEntry>({
    topic: 'settings',
    name: 'alerts',
    url: '/v2/alerts',
    query: { state: filters.values.state },
    read,
    idOf,
  });
  return (
    <section className="alerts-section" aria-labelledby={heading}>
      <div className="section-head">
        <h2 id={heading}>History</h2>
      </div>
      <FilterBar filters={filters} fields={FIELDS} />
      <ListTable
        label="Alerts"
        list={list}
        rowsName="alerts"
        columns={COLUMNS}
        idOf={idOf}
        nameOf={({ summary }) => summary}
        hrefOf={({ dashboardPath }) => dashboardPath}
        estimatedHeight={52}
        empty={
          filters.isFiltered ? (
            <EmptyState title="No alerts in this state" />
          ) : (
            <EmptyState title="No alerts">
              Alerts opened by your rules appear here. Ended alerts are retained for 30 days.
            </EmptyState>
          )
        }
      />
    </section>
  );
}
