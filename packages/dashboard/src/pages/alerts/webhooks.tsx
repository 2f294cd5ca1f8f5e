/** Lifecycle webhooks: requests that are sent when runs start and end. */
import { useState } from 'react';
import type { LifecycleWebhookEntry } from '../../../../everstep/src/contract/alerts/alerts.js';
import { TextField } from '../../components/fields.js';
import type { Column } from '../../components/tables/data-table.js';
import { CheckboxGroup, ChoiceField } from './fields.js';
import { type NamedDialog, NamedForm, STATE_COLUMN } from './named-form.js';
import { NamedSection } from './named-section.js';
import { useDestinations } from './use-destinations.js';

const EVENTS = ['run.started', 'run.succeeded', 'run.failed', 'run.canceled'] as const satisfies LifecycleWebhookEntry['events'];

const filterText = ({ workflowUrl, label }: LifecycleWebhookEntry): string =>
  [workflowUrl, label].filter((part) => part !== undefined).join(', ') || 'every run';

const COLUMNS: readonly Column<LifecycleWebhookEntry>[] = [
  {
    id: 'events',
    header: 'Events',
    width: 'minmax(0, 2fr)',
    shownFrom: 'medium',
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
  {
    id: 'destination',
    header: 'Destination',
    width: 'minmax(0, 1fr)',
    shownFrom: 'wide',
    cell: ({ destination }) => destination,
  },
  STATE_COLUMN,
];

function WebhookForm({ dialog }: { readonly dialog: NamedDialog<LifecycleWebhookEntry> }) {
  const { row } = dialog;
  const webhookDestinations = useDestinations().filter(({ kind }) => kind === 'webhook');
  const [events, setEvents] = useState<readonly string[]>(row?.events ?? EVENTS);
  const [workflowUrl, setWorkflowUrl] = useState(row?.workflowUrl ?? '');
  const [label, setLabel] = useState(row?.label ?? '');
  const [chosenDestination, setChosenDestination] = useState(row?.destination ?? '');
  const destination = chosenDestination === '' ? (webhookDestinations[0]?.name ?? '') : chosenDestination;
  return (
    <NamedForm
      dialog={dialog}
      hasState
      disabled={destination === '' || events.length === 0}
      body={{
        ...{ events, destination },
        ...(workflowUrl.trim() === '' ? {} : { workflowUrl: workflowUrl.trim() }),
        ...(label.trim() === '' ? {} : { label: label.trim() }),
      }}
    >
      <CheckboxGroup legend="Events" names={EVENTS} checked={events} onChange={setEvents} />
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
        choices={Object.fromEntries(webhookDestinations.map((destination) => [destination.name, destination.name]))}
        onChange={setChosenDestination}
        {...(webhookDestinations.length === 0 ? { hint: 'Create a destination of the kind "Signed webhook" first.' } : {})}
      />
    </NamedForm>
  );
}

export const Webhooks = () => (
  <NamedSection<LifecycleWebhookEntry>
    title="Lifecycle webhooks"
    objectName="lifecycle webhook"
    url="/v2/alerts/webhooks"
    field="webhooks"
    columns={COLUMNS}
    empty="A lifecycle webhook sends a signed request for each start or end of a run."
    deletion="Notices that were already created are still sent."
    form={(dialog) => <WebhookForm dialog={dialog} />}
  />
);
