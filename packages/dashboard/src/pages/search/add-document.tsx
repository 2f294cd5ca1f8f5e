/** Dialog that adds a document to the index or replaces the document with the same id. */
import { useId, useState } from 'react';
import { path } from '../../api/client.js';
import { useChange } from '../../api/queries.js';
import { ConfirmDialog } from '../../components/dialogs.js';
import { readObject } from './read-object.js';

export interface AddDocumentProps {
  readonly indexId: string;
  readonly namespace: string;
  readonly onClose: () => void;
}

export function AddDocument({ indexId, namespace, onClose }: AddDocumentProps) {
  const ids = { id: useId(), content: useId(), metadata: useId(), contentError: useId(), metadataError: useId() };
  const [id, setId] = useState('');
  const [contentText, setContent] = useState('{\n  "title": ""\n}');
  const [metadataText, setMetadata] = useState('');
  const change = useChange();
  const content = readObject(contentText);
  const metadata = readObject(metadataText);
  return (
    <ConfirmDialog
      title="Add document"
      open
      onClose={onClose}
      confirmText="Add document"
      disabled={id.trim() === '' || !content.ok || content.value === null || !metadata.ok}
      onConfirm={() =>
        change({
          method: 'POST',
          url: namespace === '' ? path`/search/${indexId}/upsert-data` : path`/search/${indexId}/upsert-data/${namespace}`,
          body: {
            id: id.trim(),
            content: content.ok ? content.value : null,
            ...(metadata.ok && metadata.value !== null ? { metadata: metadata.value } : {}),
          },
          topics: ['account'],
          account: true,
          done: `Added document ${id.trim()}`,
        })
      }
    >
      <div className="field">
        <label className="field-label" htmlFor={ids.id}>
          Id (replaces a document with the same id)
        </label>
        <input id={ids.id} className="input mono" value={id} onChange={(event) => setId(event.target.value)} />
      </div>
      <div className="field">
        <label className="field-label" htmlFor={ids.content}>
          Searchable content (JSON object)
        </label>
        <textarea
          id={ids.content}
          className="input"
          spellCheck={false}
          value={contentText}
          aria-invalid={!content.ok}
          aria-describedby={content.ok ? undefined : ids.contentError}
          onChange={(event) => setContent(event.target.value)}
        />
        {content.ok ? null : (
          <p id={ids.contentError} className="field-error">
            {content.why}
          </p>
        )}
      </div>
      <div className="field">
        <label className="field-label" htmlFor={ids.metadata}>
          Metadata (JSON object, optional)
        </label>
        <textarea
          id={ids.metadata}
          className="input"
          spellCheck={false}
          value={metadataText}
          aria-invalid={!metadata.ok}
          aria-describedby={metadata.ok ? undefined : ids.metadataError}
          onChange={(event) => setMetadata(event.target.value)}
        />
        {metadata.ok ? null : (
          <p id={ids.metadataError} className="field-error">
            {metadata.why}
          </p>
        )}
      </div>
    </ConfirmDialog>
  );
}
