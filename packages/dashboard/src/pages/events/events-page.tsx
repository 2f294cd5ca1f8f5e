/** Events that runs wait for, with an action to send them. */
import { useState } from 'react';
import type { EventWaiter } from '../../../../everstep/src/contract/events.js';
import { usePermissions } from '../../api/instances.js';
import { type CursorPage, useCursorList } from '../../api/lists.js';
import { ActionButton } from '../../components/action-button.js';
import { CopyId } from '../../components/copy-id.js';
import { PageTitle } from '../../components/page-title.js';
import { RunLink } from '../../components/run-link.js';
import { EmptyState } from '../../components/states.js';
import type { Column } from '../../components/tables/data-table.js';
import { FilterBar, type FilterField } from '../../components/tables/filter-bar.js';
import { useFilters } from '../../components/tables/filters.js';
import { ListTable } from '../../components/tables/list-table.js';
import { usePageDialog } from '../../components/tables/page-dialog.js';
import { TimeText } from '../../components/times/time-text.js';
import { UrlText } from '../../components/url-text.js';
import { NotifyDialog } from './notify-dialog.js';

const FILTERS = ['url'] as const;
const FIELDS: readonly FilterField<'url'>[] = [
  { kind: 'text', name: 'url', label: 'Workflow URL', placeholder: 'Exact match', wide: true },
];

interface WaiterPage {
  readonly cursor?: string;
  readonly waiters: readonly EventWaiter[];
}
const read = ({ waiters, cursor }: WaiterPage): CursorPage<EventWaiter> => ({ rows: waiters, cursor: cursor ?? null });
const idOf = ({ eventId, workflowRunId, workflowCreatedAt, stepName }: EventWaiter): string =>
  JSON.stringify([eventId, workflowRunId, workflowCreatedAt, stepName]);

export default function EventsPage() {
  const { readOnlyReason } = usePermissions();
  const filters = useFilters(FILTERS);
  const [selectedEventId, setSelectedEventId] = useState<string | null>(null);
  const sendDialog = usePageDialog('send');
  const list = useCursorList({
    topic: 'runs',
    name: 'waiters',
    url: '/v2/waiters',
    query: { workflowUrl: filters.values.url },
    read,
    idOf,
  });
  const columns: readonly Column<EventWaiter>[] = [
    {
      id: 'event',
      header: 'Event',
      sortBy: ({ eventId }) => eventId,
      width: 'minmax(0, 3fr)',
      cell: ({ eventId }) => <CopyId value={eventId} valueName="event id" />,
    },
    {
      id: 'run',
      header: 'Waiting run',
      width: 'minmax(0, 3fr)',
      cell: ({ workflowRunId, workflowCreatedAt }) => <RunLink runId={workflowRunId} createdAt={workflowCreatedAt} />,
    },
    {
      id: 'step',
      header: 'Step',
      width: 'minmax(0, 2fr)',
      shownFrom: 'full',
      stackUnder: 'run',
      stackBelow: true,
      cell: ({ stepName }) => <div className="clip">{stepName}</div>,
    },
    {
      id: 'workflow',
      header: 'Workflow',
      sortBy: ({ workflowUrl }) => workflowUrl,
      width: 'minmax(0, 3fr)',
      shownFrom: 'full',
      stackUnder: 'run',
      stackBelow: true,
      cell: ({ workflowUrl }) => <UrlText url={workflowUrl} />,
    },
    {
      id: 'since',
      header: 'Waiting since',
      sortBy: ({ since }) => since,
      width: '118px',
      stackUnder: 'event',
      stackPrefix: 'since',
      cell: ({ since }) => <TimeText unixMs={since} label="Waiting since" />,
    },
    {
      id: 'until',
      header: 'Times out',
      sortBy: ({ deadlineAt }) => deadlineAt,
      width: '118px',
      shownFrom: 'full',
      stackUnder: 'event',
      stackPrefix: 'until',
      stackBelow: true,
      cell: ({ deadlineAt }) => <TimeText unixMs={deadlineAt} label="Times out" />,
    },
    {
      id: 'actions',
      header: 'Actions',
      width: '108px',
      align: 'right',
      cell: ({ eventId }) => (
        <ActionButton
          small
          aria-label={`Send event ${eventId}`}
          disabledReason={readOnlyReason}
          onClick={() => setSelectedEventId(eventId)}
        >
          Send event
        </ActionButton>
      ),
    },
  ];
  return (
    <>
      <PageTitle
        title="Events"
        lead="Runs that are waiting for an event. Calling a webhook also sends an event; the event id is part of the webhook URL."
        actions={
          <ActionButton variant="primary" disabledReason={readOnlyReason} onClick={sendDialog.open}>
            Send event
          </ActionButton>
        }
      />
      <FilterBar filters={filters} fields={FIELDS} />
      <ListTable
        label="Waiting runs"
        rowsName="waiting runs"
        list={list}
        columns={columns}
        idOf={idOf}
        nameOf={({ eventId }) => eventId}
        empty={
          <EmptyState
            title={filters.isFiltered ? 'No runs of this workflow are waiting for events' : 'No runs are waiting for events'}
          >
            A run that calls <code>context.waitForEvent('name', 'event-id')</code> appears here until the event arrives or the
            timeout expires.
          </EmptyState>
        }
      />
      {sendDialog.isOpen ? <NotifyDialog eventId="" onClose={sendDialog.close} /> : null}
      {selectedEventId === null ? null : <NotifyDialog eventId={selectedEventId} onClose={() => setSelectedEventId(null)} />}
    </>
  );
}
