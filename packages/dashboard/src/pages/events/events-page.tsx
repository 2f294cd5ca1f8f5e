/** Who waits for which event, and until when; and notifying them. */
import { Link } from '@tanstack/react-router';
import { useState } from 'react';
import type { EventWaiter } from '../../../../everstep/src/contract/events.js';
import { useMay, useQueueId } from '../../api/instances.js';
import { type CursorPage, useCursorList } from '../../api/lists.js';
import { CopyId } from '../../components/copy-id.js';
import type { Column } from '../../components/data-table.js';
import { DeedButton } from '../../components/deed-button.js';
import { FilterBar, type FilterField } from '../../components/filter-bar.js';
import { useFilters } from '../../components/filters.js';
import { ListTable } from '../../components/list-table.js';
import { PageTitle } from '../../components/page-title.js';
import { EmptyState } from '../../components/states.js';
import { TimeText } from '../../components/time-text.js';
import { UrlText } from '../../components/url-text.js';
import { NotifyDialog } from './notify-dialog.js';

const FILTERS = ['url'] as const;
const FIELDS: readonly FilterField<'url'>[] = [
  { kind: 'text', name: 'url', label: 'Workflow URL', placeholder: 'Exactly', wide: true },
];

interface WaiterPage {
  readonly cursor?: string;
  readonly waiters: readonly EventWaiter[];
}
const read = ({ waiters, cursor }: WaiterPage): CursorPage<EventWaiter> => ({ rows: waiters, cursor: cursor ?? null });
const idOf = ({ eventId, workflowRunId, workflowCreatedAt, stepName }: EventWaiter): string =>
  JSON.stringify([eventId, workflowRunId, workflowCreatedAt, stepName]);

export default function EventsPage() {
  const queueId = useQueueId();
  const { readOnly } = useMay();
  const filters = useFilters(FILTERS);
  const [notifying, setNotifying] = useState<string | null>(null);
  const list = useCursorList({
    topic: 'runs',
    name: 'waiters',
    url: '/v2/waiters',
    query: { workflowUrl: filters.values.url },
    read,
    idOf,
  });
  const columns: readonly Column<EventWaiter>[] = [
    { id: 'event', header: 'Event', width: 'minmax(0, 3fr)', cell: ({ eventId }) => <CopyId value={eventId} what="event id" /> },
    {
      id: 'run',
      header: 'Run that waits',
      width: 'minmax(0, 3fr)',
      cell: (waiter) => (
        <Link
          className="clip mono run-link"
          to="/q/$queueId/runs/$runId"
          params={{ queueId, runId: waiter.workflowRunId }}
          search={{ createdAt: String(waiter.workflowCreatedAt) }}
          title={waiter.workflowRunId}
        >
          {waiter.workflowRunId}
        </Link>
      ),
    },
    {
      id: 'step',
      header: 'In step',
      width: 'minmax(0, 2fr)',
      under: 'run',
      cell: ({ stepName }) => <div className="clip">{stepName}</div>,
    },
    {
      id: 'workflow',
      header: 'Workflow',
      width: 'minmax(0, 3fr)',
      from: 'wide',
      under: 'run',
      cell: ({ workflowUrl }) => <UrlText url={workflowUrl} />,
    },
    {
      id: 'since',
      header: 'Waits since',
      width: '118px',
      under: 'event',
      underAs: 'since',
      cell: ({ since }) => <TimeText unixMs={since} of="Waits since" />,
    },
    {
      id: 'until',
      header: 'Gives up',
      width: '118px',
      from: 'wide',
      under: 'event',
      underAs: 'until',
      cell: ({ deadlineAt }) => <TimeText unixMs={deadlineAt} of="Gives up" />,
    },
    {
      id: 'notify',
      header: 'Notify',
      width: '92px',
      align: 'right',
      cell: ({ eventId }) => (
        <DeedButton small aria-label={`Notify of ${eventId}`} off={readOnly} onClick={() => setNotifying(eventId)}>
          Notify
        </DeedButton>
      ),
    },
  ];
  return (
    <>
      <PageTitle
        title="Events"
        lead="Runs that wait for an event, by event. A webhook is an event too: its id is in its URL."
        actions={
          <DeedButton look="primary" off={readOnly} onClick={() => setNotifying('')}>
            Notify of an event
          </DeedButton>
        }
      />
      <FilterBar filters={filters} fields={FIELDS} />
      <ListTable
        label="Waiting runs"
        what="waits"
        list={list}
        columns={columns}
        idOf={idOf}
        nameOf={({ eventId }) => eventId}
        empty={
          <EmptyState title={filters.any ? 'No run of this workflow waits' : 'No run waits for an event'}>
            A run waits with <code>context.waitForEvent('name', 'event-id')</code>, and appears here until it is notified or its
            time is over.
          </EmptyState>
        }
      />
      {notifying === null ? null : <NotifyDialog eventId={notifying} onClose={() => setNotifying(null)} />}
    </>
  );
}
