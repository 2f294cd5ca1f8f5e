/** Dialog that sends one message to a URL or URL group, immediately or through a queue. */
import { useId, useState } from 'react';
import { path } from '../../api/client.js';
import { useApi, useChange } from '../../api/queries.js';
import { ConfirmDialog } from '../../components/dialogs.js';
import type { GroupRow, QueueRow } from './shapes.js';

export function SendMessage({ onClose }: { readonly onClose: () => void }) {
  const ids = { to: useId(), queue: useId(), body: useId(), groups: useId(), hint: useId() };
  const [to, setTo] = useState('');
  const [queue, setQueue] = useState('');
  const [body, setBody] = useState('{}');
  const change = useChange();
  const queues = useApi<readonly QueueRow[]>({ topic: 'queues', name: 'list', url: '/v2/queues' });
  const groups = useApi<readonly GroupRow[]>({ topic: 'queues', name: 'url-groups', url: '/v2/topics' });
  const isJson = looksLikeJson(body);
  return (
    <ConfirmDialog
      title="Send message"
      open
      onClose={onClose}
      confirmText={queue === '' ? 'Send' : `Enqueue in ${queue}`}
      disabled={to.trim() === ''}
      onConfirm={() =>
        change({
          method: 'POST',
          // The path contains the destination unencoded: a URL keeps its slashes.
          url: queue === '' ? `/v2/publish/${to.trim()}` : `${path`/v2/enqueue/${queue}`}/${to.trim()}`,
          body,
          headers: { 'content-type': isJson ? 'application/json' : 'text/plain' },
          topics: ['runs', 'queues'],
          done: queue === '' ? 'Message sent' : `Message queued in ${queue}`,
        })
      }
    >
      <div className="field">
        <label className="field-label" htmlFor={ids.to}>
          Destination (URL or URL group)
        </label>
        <input
          id={ids.to}
          className="input mono"
          list={ids.groups}
          placeholder="https://app.example.com/hook"
          value={to}
          onChange={(event) => setTo(event.target.value)}
        />
        <datalist id={ids.groups}>
          {groups.data?.map(({ name }) => (
            <option key={name} value={name} />
          ))}
        </datalist>
      </div>
      <div className="field">
        <label className="field-label" htmlFor={ids.queue}>
          Queue
        </label>
        <select id={ids.queue} className="input" value={queue} onChange={(event) => setQueue(event.target.value)}>
          <option value="">None (send immediately)</option>
          {queues.data?.map(({ name }) => (
            <option key={name} value={name}>
              {name}
            </option>
          ))}
        </select>
      </div>
      <div className="field">
        <label className="field-label" htmlFor={ids.body}>
          Body
        </label>
        <textarea
          id={ids.body}
          className="input"
          spellCheck={false}
          value={body}
          aria-describedby={ids.hint}
          onChange={(event) => setBody(event.target.value)}
        />
        <p id={ids.hint} className="field-hint">
          Sent as {isJson ? 'JSON (application/json)' : 'text (text/plain)'}.
        </p>
      </div>
    </ConfirmDialog>
  );
}

function looksLikeJson(text: string): boolean {
  try {
    JSON.parse(text);
    return true;
  } catch {
    return false;
  }
}
