/** Section that lists alert destinations. Each row has an action that sends a test notice. The secret of a new webhook is shown once. */
import { useState } from 'react';
import type { AlertDestinationEntry } from '../../../../everstep/src/contract/alerts/alerts.js';
import { path } from '../../api/client.js';
import { usePermissions } from '../../api/instances.js';
import { useChange } from '../../api/queries.js';
import { ActionButton } from '../../components/action-button.js';
import { CopyId } from '../../components/copy-id.js';
import { DialogClose, DialogWindow } from '../../components/dialogs.js';
import { TextField } from '../../components/fields.js';
import type { Column } from '../../components/tables/data-table.js';
import { ChoiceField } from './fields.js';
import { type NamedDialog, NamedForm } from './named-form.js';
import { NamedSection } from './named-section.js';
import { useMailAvailable } from './use-destinations.js';

type Kind = AlertDestinationEntry['kind'];
const KINDS = { webhook: 'Signed webhook', slack: 'Slack-compatible webhook', email: 'Email' } as const satisfies Record<
  Kind,
  string
>;

const COLUMNS: readonly Column<AlertDestinationEntry>[] = [
  { id: 'kind', header: 'Kind', width: '190px', shownFrom: 'medium', stackUnder: 'name', cell: ({ kind }) => KINDS[kind] },
  {
    id: 'url',
    header: 'URL or addresses',
    width: 'minmax(0, 2fr)',
    shownFrom: 'wide',
    cell: ({ url, to }) => {
      const text = to?.join(', ') ?? url;
      return (
        <div className="clip mono" title={text}>
          {text}
        </div>
      );
    },
  },
];

/** Returns the target fields of the request body. `url` is the text of the field, which can contain several email addresses. */
const targetOf = (kind: Kind, url: string) =>
  kind === 'email' ? { to: url.split(/[\s,;]+/).filter((address) => address !== '') } : { url: url.trim() };

const HINTS: Readonly<Record<Kind, string>> = {
  webhook: 'Receives signed JSON.',
  slack: 'The URL is stored encrypted and not shown again.',
  email: 'Up to 5 addresses, separated by commas.',
};
const NO_MAIL = 'This installation cannot send email. Ask an operator to configure an SMTP server (EVERSTEP_SMTP_URL).';

const isKind = (text: string): text is Kind => text in KINDS;

interface DestinationFormProps {
  readonly dialog: NamedDialog<AlertDestinationEntry>;
  readonly onSecret: (secret: string) => void;
}

function DestinationForm({ dialog, onSecret }: DestinationFormProps) {
  const { row } = dialog;
  const [kind, setKind] = useState<Kind>(row?.kind ?? 'webhook');
  // The API does not return the stored Slack URL, so it must be entered again.
  const [url, setUrl] = useState(row?.kind === 'webhook' ? row.url : (row?.to?.join(', ') ?? ''));
  const isMailUnavailable = !useMailAvailable() && kind === 'email';
  const [rotateSecret, setRotateSecret] = useState(false);
  return (
    <NamedForm
      dialog={dialog}
      disabled={url.trim() === '' || isMailUnavailable}
      body={{ kind, ...targetOf(kind, url), rotateSecret }}
      onSaved={({ secret }) => (secret === undefined ? undefined : onSecret(secret))}
    >
      <ChoiceField label="Kind" value={kind} choices={KINDS} onChange={(value) => (isKind(value) ? setKind(value) : undefined)} />
      <TextField label={kind === 'email' ? 'Email addresses' : 'URL'} value={url} onChange={setUrl} hint={HINTS[kind]} />
      {isMailUnavailable ? <p role="alert">{NO_MAIL}</p> : null}
      {row?.kind === 'webhook' && kind === 'webhook' ? (
        <label className="line">
          <input type="checkbox" checked={rotateSecret} onChange={(event) => setRotateSecret(event.target.checked)} />
          <span>Create a new secret. The old one becomes invalid.</span>
        </label>
      ) : null}
    </NamedForm>
  );
}

export function Destinations() {
  const { readOnlyReason } = usePermissions();
  const change = useChange();
  const [secret, setSecret] = useState<string | null>(null);
  return (
    <>
      <NamedSection<AlertDestinationEntry>
        title="Destinations"
        objectName="destination"
        url="/v2/alerts/destinations"
        field="destinations"
        columns={COLUMNS}
        empty="Alert rules and lifecycle webhooks send their notices to destinations."
        deletion="Pending notices to this destination fail. A destination that a rule or a webhook uses cannot be deleted."
        form={(dialog) => <DestinationForm dialog={dialog} onSecret={setSecret} />}
        actions={({ name }) => (
          <ActionButton
            small
            disabledReason={readOnlyReason}
            aria-label={`Test destination ${name}`}
            onClick={() =>
              change({
                method: 'POST',
                url: path`/v2/alerts/destinations/${name}/test`,
                topics: ['queues'],
                successText: `Sent a test notice to ${name}`,
                showFailure: true,
              })
            }
          >
            Test
          </ActionButton>
        )}
      />
      {secret === null ? null : (
        <DialogWindow title="Webhook secret" open onClose={() => setSecret(null)} actions={<DialogClose>Done</DialogClose>}>
          <div className="stack">
            <p>Save this secret now: it is shown only once. The receiver uses it to verify the signature of each request.</p>
            <CopyId value={secret} valueName="secret" />
          </div>
        </DialogWindow>
      )}
    </>
  );
}
