/** Dialog that sends one message to a URL or URL group, immediately or through a queue. */
import { useId, useState } from 'react';
import { path } from '../../api/client.js';
import { useApi, useChange } from '../../api/queries.js';
import { ConfirmDialog } from '../../components/dialogs.js';
import { SelectField, TextArea, TextField } from '../../components/fields.js';
import type { QueueRow, UrlGroupRow } from './shapes.js';

export function SendMessageDialog({ onClose }: { readonly onClose: () => void }) {
  const optionsId = useId();
  const [destination, setDestination] = useState('');
  const [queue, setQueue] = useState('');
  const [body, setBody] = useState('{}');
  const change = useChange();
  const queues = useApi<readonly QueueRow[]>({ topic: 'queues', name: 'list', url: '/v2/queues' });
  const groups = useApi<readonly UrlGroupRow[]>({ topic: 'queues', name: 'url-groups', url: '/v2/topics' });
  const isJson = isValidJson(body);
  return (
    <ConfirmDialog
      title="Send message"
      open
      onClose={onClose}
      confirmText={queue === '' ? 'Send message' : `Enqueue in ${queue}`}
      disabled={destination.trim() === ''}
      onConfirm={() =>
        change({
          method: 'POST',
          // The path contains the destination unencoded: a URL keeps its slashes.
          url: queue === '' ? `/v2/publish/${destination.trim()}` : `${path`/v2/enqueue/${queue}`}/${destination.trim()}`,
          body,
          headers: { 'content-type': isJson ? 'application/json' : 'text/plain' },
          topics: ['runs', 'queues'],
          successText: queue === '' ? 'Sent the message' : `Enqueued the message in ${queue}`,
        })
      }
    >
      <TextField
        label="Destination (URL or URL group)"
        mono
        list={optionsId}
        placeholder="https://app.example.com/hook"
        value={destination}
        onChange={setDestination}
      />
      <datalist id={optionsId}>
        {groups.data?.map(({ name }) => (
          <option key={name} value={name} />
        ))}
      </datalist>
      <SelectField label="Queue" value={queue} onChange={setQueue}>
        <option value="">None (send immediately)</option>
        {queues.data?.map(({ name }) => (
          <option key={name} value={name}>
            {name}
          </option>
        ))}
      </SelectField>
      <TextArea
        label="Body"
        hint={`Sent as ${isJson ? 'JSON (application/json)' : 'text (text/plain)'}.`}
        spellCheck={false}
        value={body}
        onChange={setBody}
      />
    </ConfirmDialog>
  );
}

function isValidJson(text: string): boolean {
  try {
    JSON.parse(text);
    return true;
  } catch {
    return false;
  }
}
