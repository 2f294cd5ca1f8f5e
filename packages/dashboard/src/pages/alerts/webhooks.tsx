/** Lifecycle webhooks: requests for the start and the end of runs. */
import { useState } from 'react';
import type { LifecycleWebhookEntry } from '../../../../everstep/src/contract/alerts/alerts.js';
import { path } from '../../api/client.js';
import { useChange } from '../../api/queries.js';
import { ConfirmDialog } from '../../components/dialogs.js';
import { TextField } from '../../components/fields.js';
import { StatusBadge } from '../../components/status-badge.js';
import type { Column } from '../../components/tables/data-table.js';
import { Checks, ChoiceField } from './fields.js';
import { NamedSection } from './named-section.js';
import { useDestinations } from './use-destinations.js';

const EVENTS = ['run.started', 'run.succeeded', 'run.failed', 'run.canceled'] as const satisfies LifecycleWebhookEntry['events'];

const filterText = ({ workflowUrl, label }: LifecycleWebhookEntry): string =>
  [workflowUrl, label].filter((part) => part !== undefined).join(', ') || 'every run';

const COLUMNS: readonly Column<LifecycleWebhookEntry>[] = [
  {
    id: 'name',
    header: 'Name',
    width: 'minmax(0, 1fr)',
    cell: ({ name }) => (
      <div className="clip" title={name}>
        {name}
      </div>
    ),
  },
  {
    id: 'events',
    header: 'Events',
    width: 'minmax(0, 2fr)',
    from: 'medium',
    stackUnder: 'name',
    cell: (webhook) => (
      <>
        <div className="clip">{webhook.events.join(', ')}</div>
        <div className="muted clip" title={filterText(webhook)}>
          {filterText(webhook)}
        </div>
      </>
    ),
  },
  { id: 'destination', header: 'Destination', width: 'minmax(0, 1fr)', from: 'wide', cell: ({ destination }) => destination },
  {
    id: 'enabled',
    header: 'State',
    width: '112px',
    from: 'medium',
    cell: ({ enabled }) =>
      enabled ? <StatusBadge tone="good">Enabled</StatusBadge> : <StatusBadge tone="quiet">Disabled</StatusBadge>,
  },
];

function WebhookForm({ row, onClose }: { readonly row: LifecycleWebhookEntry | null; readonly onClose: () => void }) {
  const known = useDestinations().filter(({ kind }) => kind === 'webhook');
  const change = useChange();
  const [name, setName] = useState(row?.name ?? '');
  const [events, setEvents] = useState<readonly string[]>(row?.events ?? EVENTS);
  const [workflowUrl, setWorkflowUrl] = useState(row?.workflowUrl ?? '');
  const [label, setLabel] = useState(row?.label ?? '');
  const [chosen, setChosen] = useState(row?.destination ?? '');
  const [enabled, setEnabled] = useState(row?.enabled ?? true);
  const destination = chosen === '' ? (known[0]?.name ?? '') : chosen;
  return (
    <ConfirmDialog
      title={row ? `Edit ${row.name}` : 'New webhook'}
      open
      onClose={onClose}
      confirmText="Save webhook"
      disabled={name.trim() === '' || destination === '' || events.length === 0}
      onConfirm={() =>
        change({
          method: 'PUT',
          url: path`/v2/alerts/webhooks/${name.trim()}`,
          body: {
            enabled,
            events,
            destination,
            ...(workflowUrl.trim() === '' ? {} : { workflowUrl: workflowUrl.trim() }),
            ...(label.trim() === '' ? {} : { label: label.trim() }),
          },
          topics: ['settings'],
          done: `Saved webhook ${name.trim()}`,
        })
      }
    >
      <TextField label="Name" value={name} onChange={setName} disabled={row !== null} />
      <Checks legend="Events" names={EVENTS} checked={events} onChange={setEvents} />
      <TextField
        label="Workflow URL (optional)"
        hint="Leave empty to match every workflow."
        value={workflowUrl}
        onChange={setWorkflowUrl}
      />
      <TextField label="Label (optional)" value={label} onChange={setLabel} />
      <ChoiceField
        label="Destination"
        value={destination}
        choices={Object.fromEntries(known.map((each) => [each.name, each.name]))}
        onChange={setChosen}
        {...(known.length === 0 ? { hint: 'Create a destination of the kind "Signed webhook" first.' } : {})}
      />
      <label className="line">
        <input type="checkbox" checked={enabled} onChange={(event) => setEnabled(event.target.checked)} />
        <span>Enabled</span>
      </label>
    </ConfirmDialog>
  );
}

export const Webhooks = () => (
  <NamedSection<LifecycleWebhookEntry>
    title="Lifecycle webhooks"
    what="webhook"
    url="/v2/alerts/webhooks"
    urlOf={(name) => path`/v2/alerts/webhooks/${name}`}
    field="webhooks"
    columns={COLUMNS}
    empty="A lifecycle webhook sends a signed request for each start or end of a run."
    deletion="Notices that were already created are still sent."
    form={(props) => <WebhookForm {...props} />}
  />
);
